// (condition -> value : value) is an expression.
//
// expect: states=16 transitions=15 verdict=holds

byte x, y;
active proctype P() {
	do
	:: x < 4 -> y = (x % 2 == 0 -> x : 10 + x); x++
	:: else -> break
	od;
	assert(y == 13)
}
