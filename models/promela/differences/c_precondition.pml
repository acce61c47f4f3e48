// The condition in brackets before a fragment does not hold when the fragment is reached. The fragment
// is executed all the same, as after a failed assertion; SPIN has no successor there, and 2 states.
//
// expect: states=4 transitions=3 verdict=violated violation="assertion violated"

byte x;

active proctype P() {
	x = 3;
	c_code [now.x < 3] { now.x++; }
}
