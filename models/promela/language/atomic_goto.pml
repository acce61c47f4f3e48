// A jump out of an atomic sequence ends it; a jump from one into another does not.
//
// expect: states=21 transitions=32 verdict=holds

byte x;
active proctype P() {
	atomic { x = 1; goto a; x = 9 };
	x = 9;
a:	x = 2;
	atomic { x = 3; goto b };
	x = 9;
	atomic { x = 8; b: x = 4; x = 5 };
	x = 6
}
active proctype Q() {
	assert(x != 9);
	assert(x != 4)
}
