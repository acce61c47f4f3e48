// Channels have numbers, from 1, in the order of their creation; channel variables can be compared and copied.
//
// expect: states=7 transitions=6 verdict=holds

chan a = [1] of { byte };
chan b = [1] of { byte };
chan c = a;
active proctype P() {
	assert(a == 1 && b == 2 && c == a && c != b);
	c = b;
	c!7;
	b?7;
	assert(empty(b))
}
