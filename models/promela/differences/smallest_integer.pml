// The smallest integer can be written.
//
// expect: states=3 transitions=2 verdict=holds

int x = -2147483648;
active proctype P() {
	assert(x < 0 && x - 1 > 0)
}
