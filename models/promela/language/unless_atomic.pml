// Escapes reach into atomic sequences, but only to the first statement of a d_step.
//
// expect: states=7 transitions=6 verdict=holds

byte x, y;
active proctype P() {
	{ atomic { x = 1; y = 1; x = 2; y = 0 }; x = 3 } unless { y == 1 -> x = 7 };
	{ d_step { x = 1; y = 1; x = 4 }; x = 5 } unless { y == 1 -> x = 6 };
	x = 8
}
