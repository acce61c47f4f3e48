// A never claim that may end in the middle of a run on which it first waits for longer. Depth first, the search comes to the end of the run before it comes to the end of the claim.
//
// expect: never_0=violated

byte x;

active proctype P() {
	x = 1;
	x = 2;
	x = 3
}

never {
accept_first:
	if
	:: x < 3 -> goto accept_first
	:: true -> goto second
	fi;
second:
	if
	:: x == 0 -> goto second
	:: x > 0
	fi
}
