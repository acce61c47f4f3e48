// The number of another process, by the name of its type.
//
// expect: states=156 transitions=369 verdict=holds

byte x;
active proctype A() {
	x = 1
}
active [2] proctype P() {
	x = 2;
	x = 3
}
active proctype Q() {
	assert(P:_pid == 1 && P[2]:_pid == 2 && A:_pid == 0);
	x = P[P:_pid]:_pid
}
