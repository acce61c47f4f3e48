// An array declared after the first statement gets all its initial values. SPIN 6.5.2 sets the first
// element alone, and refuses a list.
//
// expect: states=6 transitions=5 verdict=holds

active proctype P() {
	skip;
	bool a[3] = true;
	byte b[3] = { 4, 5, 6 };
	assert(a[0] && a[1] && a[2] && b[0] == 4 && b[2] == 6)
}
