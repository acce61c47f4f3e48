// An inline can give a value.
//
// expect: states=5 transitions=4 verdict=holds

byte r;
inline larger(x, y) {
	if
	:: x > y -> return x
	:: else -> return y
	fi
}
active proctype P() {
	byte a = 3, b = 7;
	r = larger(a, b);
	assert(r == 7)
}
