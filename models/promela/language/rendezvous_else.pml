// Beside a rendezvous, else is taken only if no partner is ready.
//
// expect: states=9 transitions=9 verdict=holds

chan q = [0] of { byte };
byte missed;
active proctype S() {
	if
	:: q!1
	:: else -> missed = 1
	fi
}
active proctype R() {
	byte b;
	skip;
	end: q?b
}
