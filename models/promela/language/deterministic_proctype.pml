// D_proctype promises that there is never a choice.
//
// expect: states=6 transitions=5 verdict=holds

byte x;
D_proctype P() {
	if
	:: x == 0 -> x = 1
	:: x == 1 -> x = 2
	fi
}
init { run P() }
