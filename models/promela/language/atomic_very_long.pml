// An atomic sequence that only is long comes to its end. SPIN needs a depth to match: -m2000000.
//
// expect: states=3 transitions=2 verdict=holds

int x;
active proctype P() {
	atomic {
		do
		:: x < 600000 -> x++
		:: else -> break
		od
	}
}
