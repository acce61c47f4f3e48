// An atomic sequence that counts comes back to where it was when the counter overflows, and so never ends. SPIN says that the
// search was too deep, and counts no error.
//
// expect: states=1 transitions=0 verdict=violated violation="endless sequence"

short x;
active proctype P() {
	atomic {
		do
		:: x++
		od
	}
}
