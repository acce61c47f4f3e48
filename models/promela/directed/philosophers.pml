// Philosophers who take their left fork first, as in the measurements of HSF-SPIN (2001), tables 4 and 5. A fork is a
// channel with room for one message: who sends has the fork. The label `danger` marks where all of them can be stuck.
//
// expect: states=81 transitions=213 verdict=violated violation="invalid end state"

#ifndef N
#define N 4
#endif

chan fork[N] = [1] of { bit };

proctype Philosopher(byte id) {
	do
	:: fork[id]!1 ->
danger:		fork[(id + 1) % N]!1;
		fork[id]?_;
		fork[(id + 1) % N]?_
	od
}

init {
	byte i = N;
	atomic {
		do
		:: i > 0 -> i--; run Philosopher(i)
		:: i == 0 -> break
		od
	}
}
