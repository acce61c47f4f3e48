// Two-phase commit: a coordinator asks N participants; all commit, or all abort.
//
// expect: states=6677 transitions=19097 verdict=holds

#ifndef N
#define N 3
#endif

mtype = { prepare, yes, no, commit, abort_ };
chan to[N] = [1] of { mtype };
chan back = [N] of { mtype };
mtype decided[N];

active proctype Coordinator() {
	byte i, agreed;
	mtype answer;
	for (i : 0 .. N - 1) { to[i]!prepare }
	for (i : 0 .. N - 1) {
		back?answer;
		if
		:: answer == yes -> agreed++
		:: answer == no
		fi
	}
	answer = (agreed == N -> commit : abort_);
	for (i : 0 .. N - 1) { to[i]!answer }
}

proctype Participant(byte me) {
	mtype m;
	to[me]?prepare;
	if
	:: back!yes
	:: back!no; decided[me] = abort_
	fi;
	to[me]?m;
	if
	:: m == commit -> assert(decided[me] != abort_); decided[me] = commit
	:: m == abort_ -> decided[me] = abort_
	fi
}

init {
	byte i;
	atomic { for (i : 0 .. N - 1) { run Participant(i) } };
	_nr_pr == 2;
	for (i : 1 .. N - 1) { assert(decided[i] == decided[0]) }
}
