// select with few values is one choice.
//
// expect: states=16 transitions=15 verdict=holds

byte x;
active proctype P() {
	select (x : 1 .. 5);
	assert(x >= 1 && x <= 5)
}
