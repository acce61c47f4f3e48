// An array of bits is kept as an array of bytes: its elements hold more than a bit. A single bit does not.
//
// expect: states=7 transitions=6 verdict=holds

bit a[2];
bit b;
typedef T { bit f; bit g[2] };
T t;
active proctype P() {
	a[0] = 2;
	b = 2;
	t.f = 3;
	t.g[1] = 3;
	assert(a[0] == 2 && b == 0 && t.f == 1 && t.g[1] == 3)
}
