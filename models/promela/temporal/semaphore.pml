// Mutual exclusion by a semaphore: a process that waits is enabled again and again, but never for good. Weak fairness does not save it, strong fairness does.
//
// expect: mutex=holds served=violated
// expect weak: mutex=holds served=violated
// expect strong: mutex=holds served=holds

byte free = 1, inside;

active [2] proctype Process() {
	do
	::	atomic { free > 0 -> free-- };
critical:
		inside++;
		inside--;
		free++
	od
}

ltl mutex { [] (inside < 2) }
ltl served { [] <> Process[0]@critical }
