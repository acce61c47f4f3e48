// The sieve of Eratosthenes as a chain of filters that are all there from the beginning. Each keeps the first number that it
// gets, which is a prime, and passes on what this one does not divide.
//
// expect: states=1363 transitions=3364 verdict=holds

#ifndef MAX
#define MAX 6
#endif
#define FILTERS (MAX / 2)

chan link[FILTERS + 1] = [1] of { byte };

proctype Filter(chan from, to) {
	byte prime, n, rest;
	xr from;
	xs to;
	from?prime;
	if
	:: prime == 0 -> goto over
	:: else -> printf("%d is prime\n", prime)
	fi;
	do
	:: from?n ->
		if
		:: n == 0 -> break
		:: else ->
			rest = n;
			do
			:: rest >= prime -> rest = rest - prime
			:: else -> break
			od;
			if
			:: rest == 0 -> skip
			:: else -> to!n
			fi
		fi
	od;
over:	to!0
}

proctype Source(chan to) {
	byte n = 2;
	xs to;
	do
	:: n <= MAX -> to!n; n++
	:: else -> break
	od;
	to!0
}

proctype Sink(chan from) {
	byte n;
	xr from;
	do
	:: from?n ->
		if
		:: n == 0 -> break
		:: else -> assert(false)
		fi
	od
}

init {
	byte i;
	atomic {
		run Source(link[0]);
		do
		:: i < FILTERS -> run Filter(link[i], link[i + 1]); i++
		:: else -> break
		od;
		run Sink(link[FILTERS])
	}
}
