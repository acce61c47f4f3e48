// Division rounds towards zero and the remainder takes the sign of the dividend.
//
// expect: states=3 transitions=2 verdict=holds

int a = -7;
active proctype P() {
	assert(a / 2 == -3 && a % 3 == -1 && 7 / -2 == -3 && 7 % -3 == 1)
}
