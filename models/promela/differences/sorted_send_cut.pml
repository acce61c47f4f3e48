// A sorted send puts the message where its value belongs, which is the value that is stored: 258 is 2 in a byte.
// SPIN compares before it cuts, so that its 2 stands behind the 5, and the assertion fails.
//
// expect: states=6 transitions=5 verdict=holds

chan q = [3] of { byte };
byte x;
active proctype P() {
	q!!5;
	q!!258;
	q?x;
	assert(x == 2)
}
