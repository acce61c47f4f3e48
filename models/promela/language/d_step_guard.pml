// A d_step waits at its first statement.
//
// expect: states=13 transitions=14 verdict=holds

byte x;
chan q = [1] of { byte };
active proctype P() {
	d_step { x == 1; x = 2 };
	d_step { q?x; x++ };
	d_step { q!x; x = 0 };
	d_step { if :: x == 3 -> x = 4 :: x == 5 -> x = 6 fi }
}
active proctype Q() {
	byte y;
	x = 1;
	q!8;
	q?9;
	x = 5
}
