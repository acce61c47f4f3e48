// A process runs only if no process of higher priority can.
//
// expect: states=7 transitions=6 verdict=holds

byte x;
active proctype Low() priority 1 {
	x = 1;
	assert(x == 1)
}
active proctype High() priority 5 {
	x = 2;
	x = 3
}
