// run gives the number of the new process.
//
// expect: states=15 transitions=18 verdict=holds

byte p, q;
proctype P(byte k) {
	assert(_pid == k)
}
init {
	p = run P(1);
	assert(p == 1);
	_nr_pr == 1;
	q = run P(1);
	assert(q == 1)
}
