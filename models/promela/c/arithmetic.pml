// Types of C: narrow, signed and unsigned numbers, shifts, division and comparisons between them.
//
// expect: states=22 transitions=21 verdict=holds

c_state "signed char sc" "Global"
c_state "unsigned short us" "Global"
c_state "unsigned int ui" "Global"
c_state "long total" "Global"
int r;

active proctype P() {
	c_code { now.sc = 127; now.sc++; now.r = now.sc; };
	assert(r == -128);
	c_code { now.us = 0; now.us--; now.r = now.us; };
	assert(r == 65535);
	c_code { now.ui = 0; now.ui--; now.r = now.ui > 5; };
	assert(r == 1);
	c_code { now.r = (now.ui >> 28) + (now.ui / 1000000000u) + (now.ui % 10); };
	assert(r == 15 + 4 + 5);
	c_code { now.r = -1 < 1 && -1 > 1u; };
	assert(r == 1);
	c_code { now.total = (long) sizeof(int) * 3; now.total = now.total - 20l; now.r = now.total == -8 && now.total / 3 == -2 && now.total % 3 == -2; };
	assert(r == 1);
	c_code { now.r = ~0x0f & 0xff; now.r ^= 0x55; now.r <<= 2; now.r >>= 1; };
	assert(r == 330);
	c_code { now.r = (signed char) 200; now.r = now.r + (unsigned char) now.r; };
	assert(r == 144);
	c_code { now.r = now.r < 0 ? -now.r : now.r; now.r = !now.r + 2; }
}
active proctype Q() {
	c_expr { now.r == 2 };
	c_code { now.ui = 4000000000u; now.sc = now.ui > 3999999999u ? 'a' : '\n'; }
}
