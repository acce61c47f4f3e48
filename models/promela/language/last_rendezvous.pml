// After a rendezvous _last is the receiver, whose statement comes second.
//
// expect: states=5 transitions=4 verdict=violated violation="assertion violated"

chan q = [0] of { byte };
active proctype A() { q!1 }
active proctype B() {
	q?_;
	if
	:: d_step { _last == 1 -> assert(false) }
	:: else
	fi
}
