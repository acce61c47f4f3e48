// _nr_pr counts the dead ones that wait for younger processes.
//
// expect: states=16 transitions=20 verdict=holds

byte stage;
proctype Old() { skip }
proctype Young() { stage == 1 }
init {
	atomic { run Old(); run Young() };
	if
	:: _nr_pr == 3 -> skip
	:: _nr_pr == 2 -> assert(false)
	fi;
	stage = 1;
	_nr_pr == 1
}
