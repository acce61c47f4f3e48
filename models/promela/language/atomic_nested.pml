// atomic inside atomic adds nothing; d_step inside atomic is one step of it.
//
// expect: states=11 transitions=14 verdict=holds

byte x;
active proctype P() {
	atomic { x = 1; atomic { x = 2; x = 3 }; d_step { x = 4; x = 5 }; x = 6 };
	atomic { { x = 1; x = 2 } };
	atomic { x = 3; d_step { x = 4; x = 5 } }
}
active proctype Q() {
	x == 6 || x == 2 || x == 5
}
