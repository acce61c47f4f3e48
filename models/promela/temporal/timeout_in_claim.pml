// `timeout` is true in a state in which no process can move, and its negation is false there. SPIN
// evaluates a claim first as if something could move, so `!timeout` is true for it in every state,
// and it reports an acceptance cycle.
//
// expect: never_0=holds

byte x;

active proctype P() {
	x = 1;
	x == 0
}

never {
accept:
	do
	:: !timeout
	od
}
