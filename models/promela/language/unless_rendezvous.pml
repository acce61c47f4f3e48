// An escape by rendezvous counts if another process takes part in it.
//
// expect: states=14 transitions=15 verdict=holds

chan q = [0] of { byte };
byte x;
active proctype P() {
	{ x = 1; x = 2; x = 3; x = 4 } unless { q!1 -> x = 9 };
	x = 10
}
active proctype Q() {
	byte b;
end_wait: x == 2;
end:	q?b
}
