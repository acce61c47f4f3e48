// A run that ends is fair: no process is enabled any more. SPIN passes over it under weak fairness (`pan -a -f`) and finds no violation.
//
// expect: f=violated
// expect weak: f=violated
// expect strong: f=violated

chan c = [1] of { byte };
byte x;

active proctype P() {
	x = 2;
	c?2
}

ltl f { [] <> (x == 1) }
