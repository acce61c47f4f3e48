// Every pair of a sender and a receiver is tried.
//
// expect: states=49 transitions=80 verdict=holds

chan q = [0] of { byte };
byte got[3];
active [2] proctype S() {
	q!_pid + 1
}
active [3] proctype R() {
	byte b;
end:	q?b;
	got[_pid - 2] = b
}
