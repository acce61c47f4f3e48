// The sieve of Eratosthenes: a chain of processes, one for each prime, that grows by itself.
//
// expect: states=797 transitions=1856 verdict=holds

#ifndef MAX
#define MAX 8
#endif

byte primes;

proctype Filter(chan in; byte prime) {
	chan out = [1] of { byte };
	byte n;
	bool has_next;
	primes++;
	do
	:: in?n ->
		if
		:: n == 0 ->
			if
			:: has_next -> out!0
			:: else
			fi;
			break
		:: n > 0 && n % prime == 0
		:: n > 0 && n % prime != 0 ->
			if
			:: !has_next -> has_next = true; run Filter(out, n)
			:: has_next -> out!n
			fi
		fi
	od
}

init {
	chan first = [1] of { byte };
	byte i = 3;
	run Filter(first, 2);
	do
	:: i <= MAX -> first!i; i++
	:: i > MAX -> first!0; break
	od;
	_nr_pr == 1;
	assert(primes == 4)
}
