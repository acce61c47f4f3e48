// An atomic sequence that can only repeat its states is a violation. SPIN says that the search was
// too deep, and counts no error.
//
// expect: states=1 transitions=0 verdict=violated violation="endless sequence"

byte x;
active proctype P() {
	atomic {
		x = 1;
		do
		:: x = 1 - x
		od
	}
}
