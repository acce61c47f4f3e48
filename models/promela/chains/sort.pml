// Sorting by a chain of processes: each keeps the smaller of what it has and what comes, and passes on the larger.
//
// expect: states=3815 transitions=12762 verdict=holds

#ifndef N
#define N 4
#endif

chan link[N] = [N] of { byte };

proctype Source(chan to) {
	byte count, number = 15;
	xs to;
	do
	:: count < N -> to!number; count++; number = (number * 3 + 14) % 100
	:: else -> break
	od
}

proctype Cell(chan from, to; byte place) {
	byte left, mine, next;
	xr from;
	xs to;
	left = N - place;
	from?mine;
	do
	:: left > 0 ->
		from?next;
		if
		:: next >= mine -> to!next
		:: else ->
			to!mine;
			mine = next
		fi;
		left--
	:: else -> printf("%d\n", mine); break
	od
}

proctype Sink(chan from) {
	byte largest;
	xr from;
	from?largest;
	printf("%d is the largest\n", largest)
}

init {
	byte i = 1;
	atomic {
		run Source(link[0]);
		do
		:: i < N -> run Cell(link[i - 1], link[i], i); i++
		:: else -> break
		od;
		run Sink(link[N - 1])
	}
}
