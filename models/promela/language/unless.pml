// The escape is looked at before every statement of the main part, and wins.
//
// expect: states=27 transitions=37 verdict=holds

byte x, y;
active proctype P() {
	{ x = 1; x = 2; x = 3 } unless { y == 1 -> x = 9 };
	assert(x == 3 || x == 9)
}
active proctype Q() {
	y = 1
}
