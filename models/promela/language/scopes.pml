// A block has names of its own.
//
// expect: states=9 transitions=8 verdict=holds

byte x = 1;
active proctype P() {
	{ byte y = 2; x = x + y };
	{ short y = -3; x = x - y; { byte z = y + 10; x = x + z } };
	assert(x == 13)
}
