// A process may wait for ever at a label whose name begins with end.
//
// expect: states=3 transitions=2 verdict=holds

chan q = [1] of { byte };
active proctype P() {
	byte x;
end:	do
	:: q?x
	od
}
active proctype Q() {
	q!1;
ending:	q?99
}
