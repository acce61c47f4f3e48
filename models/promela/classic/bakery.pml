// Lamport's bakery with numbers below LIMIT: who draws a number that is too high waits for the shop to empty.
//
// expect: states=3515 transitions=6787 verdict=holds

#ifndef N
#define N 2
#endif
#ifndef LIMIT
#define LIMIT 4
#endif

bool choosing[N];
byte number[N];
byte inside;

active [N] proctype Customer() {
	byte i, highest;
	do
	::	choosing[_pid] = true;
		highest = 0;
		i = 0;
		do
		:: i < N -> highest = (number[i] > highest -> number[i] : highest); i++
		:: i == N -> break
		od;
		if
		:: highest + 1 < LIMIT -> number[_pid] = highest + 1; choosing[_pid] = false
		:: else -> choosing[_pid] = false; goto again
		fi;
		i = 0;
		do
		:: i < N ->
			!choosing[i];
			number[i] == 0 || number[_pid] < number[i] || (number[_pid] == number[i] && _pid <= i);
			i++
		:: i == N -> break
		od;
		inside++;
		assert(inside == 1);
		inside--;
		number[_pid] = 0;
again:		i = 0
	od
}
