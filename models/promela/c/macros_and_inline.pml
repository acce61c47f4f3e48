// Macros and inlines around fragments.
//
// expect: states=1048 transitions=2003 verdict=holds

#define LIMIT 3
#define BUMP(v) c_code { now.v = (now.v + 1) % (LIMIT + 1); }

byte p, q;

inline both(k) {
	BUMP(p);
	q = q + k;
	c_code { if (now.q > LIMIT) now.q = 0; }
}

active proctype A() {
	do
	:: p < LIMIT -> both(1)
	:: p == LIMIT -> BUMP(p); both(2)
	od
}
active proctype B() {
	byte n;
	do :: n < 2 -> both(3); n++ :: else -> break od
}
