// Channels as parameters.
//
// expect: states=11 transitions=12 verdict=holds

chan a = [1] of { byte };
chan b = [1] of { byte };
proctype Copy(chan from; chan to) {
	byte x;
	from?x;
	to!x + 1
}
init {
	byte y;
	run Copy(a, b);
	a!1;
	b?y;
	assert(y == 2)
}
