// Nobody can receive what P offers. In SPIN a d_step that begins with an assertion may run in the middle of the rendezvous, which is
// then taken for complete: it finds 7 states.
//
// expect: states=4 transitions=3 verdict=violated violation="invalid end state"

byte x;
chan q = [0] of { byte };
active proctype P() {
	q!1;
	q?1
}
active proctype Q() {
	x = 1;
	d_step {
		assert(x == 1);
		x = 2
	}
}
