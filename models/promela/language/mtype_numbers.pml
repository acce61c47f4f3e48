// Names of messages count backwards from 1 within a declaration; a later declaration goes on where
// the earlier ones ended.
//
// expect: states=7 transitions=6 verdict=holds

mtype = { a, b };
mtype = { c, d };
active proctype P() {
	assert(a == 2 && b == 1 && c == 4 && d == 3);
	mtype x;
	assert(x == 0);
	x = c;
	assert(x == 4)
}
