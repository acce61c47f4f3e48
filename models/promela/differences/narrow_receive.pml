// A receive into a variable that is narrower than the message's field cuts the value. SPIN puts the cut value
// back into the channel when it backtracks: its R then receives 0, and the assertion fails.
//
// expect: states=10 transitions=12 verdict=holds

chan q = [1] of { byte };
bit b;
byte x;
active proctype R() {
end:	q?x;
	assert(x == 2)
}
active proctype P() {
end:	q?b
}
active proctype Q() {
	q!2
}
