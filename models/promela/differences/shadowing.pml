// A block may declare a name again. SPIN 6.5.2 refuses this.
//
// expect: states=16 transitions=23 verdict=holds

byte x = 3;
active proctype P() {
	byte x = 1;
	x = 2;
	{ byte x = 7; x = 8 };
	assert(x == 2)
}
active proctype Q() {
	assert(x == 3)
}
