// Fields are stored from left to right, so an index may be a field received just before.
//
// expect: states=9 transitions=8 verdict=holds

chan q = [1] of { byte, byte };
byte a[3];
active proctype P() {
	byte i;
	q!2,9;
	q?i,a[i];
	assert(a[2] == 9 && a[0] == 0);
	q!1,i + 1;
	i = 1;
	q?eval(i),i;
	assert(i == 3)
}
