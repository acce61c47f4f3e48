// Arguments of an inline are text.
//
// expect: states=10 transitions=9 verdict=holds

byte a = 1, b = 2;
byte t[2];
inline swap(x, y) {
	byte tmp;
	tmp = x; x = y; y = tmp
}
inline twice(e) {
	t[0] = e * 2;
	t[1] = (e) * 2
}
active proctype P() {
	swap(a, b);
	assert(a == 2 && b == 1);
	twice(a + 1);
	assert(t[0] == 4 && t[1] == 6)
}
