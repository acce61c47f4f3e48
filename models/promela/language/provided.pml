// provided holds a process back at every step.
//
// expect: states=8 transitions=7 verdict=holds

byte turn, n;
active proctype A() provided (turn == 0) {
	n = 1; n = 2; turn = 1; n = 5
}
active proctype B() provided (turn == 1) {
	assert(n == 2);
	n = 3;
	turn = 0
}
