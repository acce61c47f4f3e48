// Peterson's mutual exclusion for N processes: N - 1 rounds, in each of which one process stays behind.
//
// expect: states=4363 transitions=8726 verdict=holds

#ifndef N
#define N 2
#endif

byte level[N], last[N];
byte inside;

active [N] proctype Process() {
	byte round, other, seen;
	bool wait;
	do
	:: true ->
		round = 1;
		do
		:: round < N ->
			level[_pid] = round;
			last[round] = _pid;
			wait = true;
			do
			:: wait ->
				wait = false;
				other = 0;
				do
				:: other < N ->
					if
					:: other == _pid -> skip
					:: else ->
						seen = level[other];
						if
						:: seen >= round -> wait = true
						:: else -> skip
						fi
					fi;
					other++
				:: else -> break
				od;
				if
				:: wait ->
					seen = last[round];
					if
					:: seen == _pid -> skip
					:: else -> wait = false
					fi
				:: else -> skip
				fi
			:: else -> break
			od;
			round++
		:: else -> break
		od;
		inside++;
		assert(inside == 1);
		inside--;
		level[_pid] = 0
	od
}
