// Dekker's mutual exclusion for two processes.
//
// expect: states=146 transitions=274 verdict=holds

bool wants[2];
byte turn;
byte inside;

active [2] proctype Process() {
	do
	::	wants[_pid] = true;
		do
		:: !wants[1 - _pid] -> break
		:: wants[1 - _pid] ->
			if
			:: turn == _pid
			:: turn != _pid ->
				wants[_pid] = false;
				turn == _pid;
				wants[_pid] = true
			fi
		od;
		inside++;
		assert(inside == 1);
		inside--;
		turn = 1 - _pid;
		wants[_pid] = false
	od
}
