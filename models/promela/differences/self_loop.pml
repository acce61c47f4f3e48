// A loop that does nothing is a loop. SPIN's verifier refuses to start.
//
// expect: states=3 transitions=3 verdict=holds

byte x;
active proctype P() {
	do
	:: skip
	:: x = 1; break
	od
}
