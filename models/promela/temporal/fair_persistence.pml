// The published case of SPIN's weak fairness (issue 38 of its tracker): every run ends with n == 2, so the formula is violated, and
// no process is treated unfairly. `pan -a -f` finds no violation; `pan -a` does.
//
// expect: f=violated
// expect weak: f=violated
// expect strong: f=violated

byte n;

active proctype A() {
	n = 1;
	n = 2
}

active proctype B() {
	do
	:: n == 2 -> break
	od
}

ltl f { <> [] (n == 1) }
