// On a channel without room, send and receive are one step.
//
// expect: states=6 transitions=6 verdict=holds

chan q = [0] of { byte, byte };
byte x, y;
active proctype P() {
	q!3,4;
	assert(x == 3 && y == 4)
}
active proctype Q() {
	q?x,y
}
