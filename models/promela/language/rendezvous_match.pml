// A rendezvous needs a receiver whose constants match.
//
// expect: states=6 transitions=6 verdict=holds

mtype = { ack, nak };
chan q = [0] of { mtype, byte };
active proctype S() {
	if
	:: q!ack,1
	:: q!nak,2
	fi
}
active proctype R() {
	byte b;
	if
	:: q?ack,b -> assert(b == 1)
	:: q?nak,2
	fi
}
