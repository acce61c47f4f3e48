// A never claim that waits for a loop in which x stays 0.
//
// expect: never_0=violated
// expect weak: never_0=holds

byte x;

active proctype P() {
	do
	:: x = 1 - x
	od
}

active proctype Q() {
	do
	:: skip
	od
}

never {
	do
	:: skip
	:: x == 0 -> goto accept
	od;
accept:
	do
	:: x == 0
	od
}
