// Inlines call inlines; each call has its own scope and its own labels.
//
// expect: states=18 transitions=17 verdict=holds

byte n;
inline inc(v) {
	skip;
again:	v++;
	if
	:: v % 2 == 1 -> goto again
	:: else
	fi
}
inline both(v, w) {
	inc(v);
	inc(w)
}
active proctype P() {
	byte m;
	both(n, m);
	inc(n);
	assert(n == 4 && m == 2)
}
