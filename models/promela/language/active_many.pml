// active [n] starts n processes; their parameters are zero.
//
// expect: states=40 transitions=81 verdict=holds

byte n;
active [3] proctype P(byte k) {
	assert(k == 0 && _pid < 3);
	n++
}
