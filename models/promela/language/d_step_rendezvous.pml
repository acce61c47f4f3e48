// A rendezvous cannot be offered inside a d_step; it can be accepted at its beginning.
//
// expect: states=3 transitions=2 verdict=violated violation="rendezvous in d_step"

chan q = [0] of { byte };
byte x;
active proctype P() {
	q!1;
	d_step { q!2 }
}
active proctype R() {
	d_step { q?x; x++ };
	assert(x == 2);
	end: q?x
}
