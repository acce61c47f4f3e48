// Where an atomic sequence blocks, others run, and may run again before it goes on.
//
// expect: states=10 transitions=11 verdict=holds

byte x;
active proctype P() {
	atomic { x = 1; x == 2; x = 3; x = 4 }
}
active proctype Q() {
	x == 1;
	x = 2;
	assert(x == 2 || x == 4)
}
