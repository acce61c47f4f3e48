// A run that ends does not go on without progress: it is not infinite.
//
// expect progress: progress=holds

byte x;

active proctype P() {
	x = 1;
	x = 2
}

active proctype Q() {
	x == 2;
	x == 3
}
