// A rendezvous cannot be offered in the middle of a d_step. SPIN stops with an error when it comes to such an offer; here it cannot be
// executed, and another option is taken if there is one.
//
// expect: states=4 transitions=3 verdict=holds

byte x, b;
chan q = [0] of { byte };
active proctype P() {
	d_step {
		x = 2;
		if
		:: q!2
		:: b = 1
		fi
	};
	assert(b == 1)
}
