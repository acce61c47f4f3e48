// A choice without an option that can be taken waits.
//
// expect: states=8 transitions=9 verdict=holds

byte x;
active proctype P() {
	if
	:: x == 1 -> x = 2
	:: x == 3 -> x = 4
	fi
}
active proctype Q() {
	x = 3
}
