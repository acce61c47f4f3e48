// A rendezvous hands the privilege to the receiver. If the receiver is not atomic, the rest of the
// sender's sequence is no longer protected.
//
// expect: states=6 transitions=5 verdict=holds

chan q = [0] of { byte };
byte x, seen;
active proctype P() {
	atomic { x = 1; q!1; x = 2; x = 3 }
}
active proctype Q() {
	byte b;
	q?b;
	seen = x
}
active proctype R() {
	byte b;
end:	x == 2 -> assert(x == 2 || x == 3)
}
