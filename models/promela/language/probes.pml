// len, empty, nempty, full, nfull.
//
// expect: states=31 transitions=48 verdict=holds

chan q = [2] of { bit };
chan r = [0] of { bit };
active proctype P() {
	assert(len(q) == 0);
	empty(q); nfull(q);
	q!1;
	nempty(q) && nfull(q);
	q!1;
	full(q);
	assert(len(q) == 2);
	if :: empty(q) -> assert(false) :: nempty(q) fi
}
active proctype R() {
	if
	:: full(r) -> assert(false)
	:: nfull(r) && empty(r)
	fi
}
