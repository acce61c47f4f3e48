// Peterson's mutual exclusion for N processes: N - 1 waiting rooms, each of which keeps one process back.
//
// expect: states=29876 transitions=83610 verdict=holds

#ifndef N
#define N 3
#endif

byte level[N];		// the room a process waits in
byte last[N];		// who entered a room last
byte inside;

active [N] proctype Process() {
	byte room, other;
	do
	::	room = 1;
		do
		:: room < N ->
			level[_pid] = room;
			last[room] = _pid;
			other = 0;
			do
			:: other == N -> break
			:: other < N && (other == _pid || level[other] < room || last[room] != _pid) -> other++
			od;
			room++
		:: room == N -> break
		od;
		inside++;
		assert(inside == 1);
		inside--;
		level[_pid] = 0
	od
}
