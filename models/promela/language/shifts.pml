// Shifts are those of 32-bit integers; a shift to the right keeps the sign.
//
// expect: states=3 transitions=2 verdict=holds

int x = -16;
active proctype P() {
	assert(x >> 2 == -4 && (1 << 31) < 0 && (3 << 4) == 48)
}
