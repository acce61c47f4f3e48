// else stands for "nothing else", wherever it is written.
//
// expect: states=10 transitions=9 verdict=holds

byte x;
active proctype P() {
	do
	:: else -> break
	:: x < 3 -> x++
	od;
	assert(x == 3)
}
