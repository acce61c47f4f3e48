// The number of processes does not depend on whether a formula is checked. SPIN counts the claim as a process, so that `_nr_pr == 1` is never
// true beside one, and finds no violation here.
//
// expect: f=violated

byte y;

active proctype P() {
	do
	:: _nr_pr == 1 -> y = 0
	:: _nr_pr == 2 -> y = 1
	od
}

ltl f { [] <> (y > 0) }
