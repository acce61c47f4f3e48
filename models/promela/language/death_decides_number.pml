// The number of a new process depends on whether an older one is still there. So the end of a process is no local step. With its partial order
// reduction, SPIN takes it for one and overlooks this violation (issue 78 of its tracker).
//
// expect: states=26 transitions=38 verdict=violated violation="assertion violated"

byte p;
proctype A() {
	skip
}
init {
	run A();
	p = run A();
	assert(p == 1)
}
