// A send to a full channel waits.
//
// expect: states=15 transitions=20 verdict=holds

chan q = [2] of { bit };
active proctype P() {
	q!0; q!1; q!0;
	assert(len(q) <= 2)
}
active proctype Q() {
	skip;
	q?_
}
