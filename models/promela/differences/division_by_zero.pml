// Division by zero is a violation with a position and a trace. SPIN's verifier dies of a signal.
//
// expect: states=3 transitions=2 verdict=violated violation="division by zero"

byte x = 2;
active proctype P() {
	x = x - 1;
	x = x - 1;
	x = 10 / x
}
