// If the receiver is in an atomic sequence itself, it goes on, and the sender waits.
//
// expect: states=6 transitions=6 verdict=holds

chan q = [0] of { byte };
byte x;
active proctype P() {
	atomic { x = 1; q!1; assert(x == 5); x = 2 }
}
active proctype Q() {
	byte b;
	atomic { q?b; x = 4; x = 5 }
}
