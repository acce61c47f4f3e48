// States that differ in a priority alone are different states. SPIN 6.5.2 leaves the priority out of what it
// compares, finds 14 states and no error; with -DNOCOMP it finds 18 and the error.
//
// expect: states=18 transitions=21 verdict=violated violation="assertion violated"

byte x, y;

active proctype P() {
	x = 1;
	if
	:: set_priority(1, 1); y = 0
	:: set_priority(1, 9); y = 0
	fi;
	x = 2;
	x = 3
}

active proctype Q() {
	x >= 2;
	assert(get_priority(1) != 9)
}
