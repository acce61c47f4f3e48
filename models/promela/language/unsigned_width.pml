// Unsigned numbers of a given width wrap by themselves.
//
// expect: states=16 transitions=25 verdict=holds

unsigned x : 2;
active proctype P() {
	do
	:: x++
	od
}
active proctype Q() {
	x == 3;
	assert(x == 3 || x < 3)
}
