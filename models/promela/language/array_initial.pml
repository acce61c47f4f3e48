// One initial value for all elements, or a list.
//
// expect: states=3 transitions=2 verdict=holds

byte a[3] = 7;
byte b[4] = { 1, 2, 3, 4 };
active proctype P() {
	short c[2] = -1;
	byte d[2] = { 8, 9 };
	assert(a[0] == 7 && a[2] == 7 && b[0] == 1 && b[3] == 4 && c[1] == -1 && d[0] == 8 && d[1] == 9)
}
