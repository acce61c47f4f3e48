// A field of type bit holds 0 or 1. SPIN keeps a byte if the message has no other field, and finds x == 2.
//
// expect: states=8 transitions=7 verdict=holds

chan one = [1] of { bit };
chan two = [1] of { bit, bit };
byte x;
active proctype P() {
	two!2,2;
	two?x,_;
	assert(x == 0);
	one!2;
	one?x;
	assert(x == 0)
}
