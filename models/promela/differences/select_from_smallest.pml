// select from the smallest integer on counts up, however many values there are: a byte comes back to where it was.
//
// expect: states=1281 transitions=1281 verdict=holds

byte x;
active proctype P() {
	select (x : -2147483648 .. 2147483647);
	assert(x >= 0)
}
