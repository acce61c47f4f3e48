// A process is removed only after all younger ones.
//
// expect: states=24 transitions=30 verdict=holds

byte done;
proctype Long() {
	done == 1;
	skip
}
proctype Short() {
	skip
}
init {
	run Short();
	run Long();
	assert(_nr_pr >= 2);
	done = 1;
	_nr_pr == 1
}
