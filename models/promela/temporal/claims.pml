// Never claims: one that ends, in a state that is reached without a loop.
//
// expect: never_0=violated

byte x;

active proctype P() {
	do
	:: x < 3 -> x++
	:: else -> x = 0
	od
}

never {
	do
	:: x == 2 -> break
	:: else
	od
}
