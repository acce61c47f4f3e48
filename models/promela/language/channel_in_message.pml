// Channels can be sent.
//
// expect: states=9 transitions=10 verdict=holds

chan hello = [0] of { chan };
active proctype P() {
	chan mine = [1] of { byte };
	byte x;
	hello!mine;
	mine?x;
	assert(x == 42)
}
active proctype Q() {
	chan c;
	hello?c;
	c!42
}
