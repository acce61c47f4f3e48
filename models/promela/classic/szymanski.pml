// Szymanski's mutual exclusion: a waiting room with two doors.
// 0 outside, 1 wants in, 2 waits for others, 3 in the room, 4 the door is closed.
//
// expect: states=905 transitions=1731 verdict=holds

#ifndef N
#define N 2
#endif

byte flag[N];
byte inside;

inline all_below(k) {
	i = 0;
	do
	:: i < N -> flag[i] < k; i++
	:: i == N -> break
	od
}

active [N] proctype Process() {
	byte i;
	do
	::	flag[_pid] = 1;
		all_below(3);
		flag[_pid] = 3;
		i = 0;
		do
		:: i < N && flag[i] != 1 -> i++
		:: i < N && flag[i] == 1 ->
			flag[_pid] = 2;
			i = 0;
			do
			:: flag[i] == 4 -> break
			:: flag[i] != 4 -> i = (i + 1) % N
			od;
			break
		:: i == N -> break
		od;
		flag[_pid] = 4;
		i = 0;
		do
		:: i < _pid -> flag[i] < 2; i++
		:: i == _pid -> break
		od;
		inside++;
		assert(inside == 1);
		inside--;
		i = _pid + 1;
		do
		:: i < N -> flag[i] < 2 || flag[i] > 3; i++
		:: i == N -> break
		od;
		flag[_pid] = 0
	od
}
