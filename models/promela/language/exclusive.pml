// xr and xs promise that no other process receives or sends.
//
// expect: states=8 transitions=8 verdict=holds

chan q = [2] of { byte };
active proctype P() {
	xs q;
	q!1; q!2
}
active proctype Q() {
	xr q;
	byte x;
	q?x; q?x
}
