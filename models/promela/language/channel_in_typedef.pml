// A structure can contain a channel; each variable gets its own.
//
// expect: states=8 transitions=7 verdict=holds

typedef Port { byte id; chan in = [1] of { byte } };
Port p[2];
active proctype P() {
	byte x;
	p[0].in!5;
	p[1].in!6;
	p[0].in?x;
	assert(x == 5);
	p[1].in?x;
	assert(x == 6 && p[0].in != p[1].in)
}
