// Q must not move while x is 2, so it is not enabled then. SPIN's enabled does not look at the clause of a process, and fails the assertion.
//
// expect: states=2 transitions=1 verdict=holds

byte x;
active proctype P() {
end:	x == 2 && enabled(1);
	assert(false)
}
active proctype Q() provided (x != 2) {
	x = 2;
end:	x = 3
}
