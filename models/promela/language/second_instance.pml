// The published case of SPIN's partial-order reduction (issue 78 of its tracker): a process type that is active and started once
// more. The number of the second process is 2, unless the first one has ended by then. SPIN's verifier takes only that order.
//
// expect: states=11 transitions=14 verdict=violated violation="assertion violated"

init {
	run counted()
}

active proctype counted() {
	assert(_pid == 1)
}
