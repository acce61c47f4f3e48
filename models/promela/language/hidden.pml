// A hidden variable is no part of the state, if every transition that reads it has written it before.
//
// expect: states=13 transitions=18 verdict=holds

hidden byte tmp;
byte x = 3, y = 4;
active proctype P() {
	d_step { tmp = x; x = y; y = tmp };
	atomic { tmp = x + y; x = tmp; y = tmp };
	assert(x == 7 && y == 7)
}
active proctype Q() {
	d_step { tmp = 1; x = x + tmp; tmp = 0; x = x - 1 }
}
