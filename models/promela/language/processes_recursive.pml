// A process type may start itself.
//
// expect: states=744 transitions=2035 verdict=holds

byte leaves;
proctype Tree(byte depth) {
	if
	:: depth == 0 -> leaves++
	:: depth > 0 -> run Tree(depth - 1); run Tree(depth - 1)
	fi
}
init {
	run Tree(2);
	_nr_pr == 1;
	assert(leaves == 4)
}
