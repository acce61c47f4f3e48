// A structure without arrays can be a parameter.
//
// expect: states=9 transitions=8 verdict=holds

typedef Pair { byte a; byte b };
byte r;
proctype P(Pair p; byte k) {
	r = p.a + p.b * k
}
init {
	Pair q;
	q.a = 3; q.b = 4;
	run P(q, 5);
	_nr_pr == 1;
	assert(r == 23)
}
