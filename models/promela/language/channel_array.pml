// Arrays of channels, each element a channel of its own.
//
// expect: states=54 transitions=107 verdict=holds

chan q[3] = [1] of { byte };
active [3] proctype P() {
	byte x;
	q[_pid]!_pid;
	q[(_pid + 1) % 3]?x;
	assert(x == (_pid + 1) % 3)
}
