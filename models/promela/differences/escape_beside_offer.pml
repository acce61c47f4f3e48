// While an escape is possible, the main part waits. SPIN forgets this when another escape offers a rendezvous
// that no process takes: it finds 8 states here.
//
// expect: states=5 transitions=4 verdict=holds

byte x;
chan q = [0] of { byte };
active proctype P() {
	{
		skip
	} unless {
		if
		:: q!1
		:: x == 0; x = 2
		fi
	};
	assert(x == 2)
}
