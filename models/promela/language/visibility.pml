// show and local change nothing about the states.
//
// expect: states=5 transitions=4 verdict=holds

show byte a;
local byte b;
active proctype P() {
	show byte c = 1;
	a = c; b = a + 1;
	assert(b == 2)
}
