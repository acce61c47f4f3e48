// A loop over the indices of an array.
//
// expect: states=21 transitions=20 verdict=holds

byte a[4] = { 3, 1, 4, 1 };
active proctype P() {
	byte i, sum;
	for (i in a) {
		sum = sum + a[i];
		a[i] = 0
	}
	assert(sum == 9 && i == 4 && a[0] == 0)
}
