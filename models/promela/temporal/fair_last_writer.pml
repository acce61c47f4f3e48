// The published case of SPIN's weak fairness (issue 38 of its tracker), in its first form: the last writer decides, both processes end,
// and the process that comes last was not treated unfairly. `pan -a -f` finds no violation; `pan -a` does.
//
// expect: f=violated g=violated h=holds
// expect weak: f=violated g=violated h=holds
// expect strong: f=violated g=violated h=holds

byte n;

active proctype one() { n = 1 }
active proctype two() { n = 2 }

ltl f { <> [] (n == 1) }
ltl g { <> [] (n == 2) }
ltl h { <> [] (n == 1 || n == 2) }
