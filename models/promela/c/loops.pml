// Loops, declarations and conditions inside one fragment are one step.
//
// expect: states=98 transitions=129 verdict=holds

int n, total;
byte primes;

active proctype Sieve() {
	n = 2;
	do
	:: n <= 30 ->
		c_code {
			int d, prime = 1;
			for (d = 2; d * d <= now.n; d++) {
				if (now.n % d == 0) {
					prime = 0;
					break;
				}
			}
			if (prime) {
				now.primes++;
				now.total += now.n;
			}
			now.n++;
		}
	:: else -> break
	od;
	assert(primes == 10 && total == 129)
}
active proctype Watcher() {
	c_expr { now.primes > 7 };
	c_expr { now.primes > 9 }
}
