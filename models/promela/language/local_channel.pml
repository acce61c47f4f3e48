// Each process has the channels it declares for itself.
//
// expect: states=21 transitions=32 verdict=holds

active [2] proctype P() {
	chan q = [1] of { byte };
	byte x;
	q!_pid + 5;
	q?x;
	assert(x == _pid + 5)
}
