// Operators bind as in C.
//
// expect: states=11 transitions=10 verdict=holds

byte x = 6;
active proctype P() {
	assert(1 + 2 * 3 == 7);
	assert((x & 3 == 2) == 0);
	assert((1 << 2 + 1) == 8);
	assert(5 - 3 - 1 == 1);
	assert(2 | 1 ^ 3 & 2 == 2);
	assert(!x + 1 == 1);
	assert(~x == -7);
	assert(-x % 4 == -2);
	assert(1 || 0 && 0)
}
