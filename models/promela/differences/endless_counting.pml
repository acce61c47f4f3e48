// An atomic sequence that counts for ever never comes back to where it was. It is a violation all the same, after a million
// rounds. SPIN says that the search was too deep, and counts no error.
//
// expect: states=1 transitions=0 verdict=violated violation="endless sequence"

int x;
active proctype P() {
	atomic {
		do
		:: x++
		od
	}
}
