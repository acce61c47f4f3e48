// Peterson's algorithm: mutual exclusion needs no fairness, the absence of starvation does.
//
// expect: mutex=holds served=violated
// expect weak: mutex=holds served=holds

bool wants[2];
byte turn, inside;

active [2] proctype Process() {
	do
	::	wants[_pid] = true;
		turn = 1 - _pid;
		(!wants[1 - _pid] || turn == _pid);
critical:
		inside++;
		inside--;
		wants[_pid] = false
	od
}

ltl mutex { [] (inside < 2) }
ltl served { [] <> Process[0]@critical }
