// The violation lies 24,002 steps from the beginning. SPIN's verifier, run as it is, stops at 10,000, says that this was too little, counts no errors and
// ends with exit code 0.
//
// expect: states=24004 transitions=24003 verdict=violated violation="assertion violated"

int n;
active proctype P() {
	do
	:: n < 12000 -> n++
	:: else -> break
	od;
	assert(n != 12000)
}
