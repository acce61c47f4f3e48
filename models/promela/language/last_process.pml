// _last is the process that moved last; speaking of it makes it part of the state.
//
// expect: states=19 transitions=26 verdict=holds

byte x;
active [2] proctype P() {
	x++;
	x++
}
never {
	do
	:: _last == 1 && x == 9 -> break
	:: else
	od
}
