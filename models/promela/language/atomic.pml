// Nobody sees the middle of an atomic sequence.
//
// expect: states=36 transitions=64 verdict=holds

byte x, y;
active [2] proctype P() {
	atomic { x++; y++; x--; y-- };
	atomic { x = _pid + 1; y = x }
}
active proctype Q() {
	assert(x == y)
}
