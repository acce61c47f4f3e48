// A byte cannot count beyond 255: this loop never ends.
//
// expect: states=769 transitions=769 verdict=holds

byte i, n;
active proctype P() {
	for (i : 250 .. 255) { n++ }
}
