// Both bounds are included, and the variable ends one above.
//
// expect: states=24 transitions=23 verdict=holds

byte i, sum, low = 3;
active proctype P() {
	for (i : 1 .. 4) {
		sum = sum + i;
		if :: i == 9 -> break :: else fi
	}
	assert(sum == 10 && i == 5);
	for (i : low .. 2) { assert(false) }
	assert(i == 3)
}
