// A receive may change a variable it has just matched. SPIN puts the wrong message back when it goes on
// with its search, and finds 6 states.
//
// expect: states=7 transitions=7 verdict=holds

byte x;
bit b;
chan q = [1] of { byte, bit };
active proctype P() {
	q?eval(b),b
}
active proctype Q() {
	x = 1;
	q!0,1
}
