// A d_step is one transition, whatever it contains.
//
// expect: states=10 transitions=13 verdict=holds

byte x, y;
active proctype P() {
	d_step { x = 1; y = x + 1; x = y + 1; y = 7 };
	d_step { x == 3; x = 0 }
}
active proctype Q() {
	assert(x == 0 || y == 7)
}
