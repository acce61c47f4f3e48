// Processes started in an atomic sequence begin to run when it ends.
//
// expect: states=19 transitions=28 verdict=holds

byte n;
proctype P(byte k) {
	n = n + k
}
init {
	atomic { run P(1); run P(2); run P(3) };
	(_nr_pr == 1) -> assert(n == 6)
}
