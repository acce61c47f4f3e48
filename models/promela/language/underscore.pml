// _ takes any value and forgets it.
//
// expect: states=8 transitions=7 verdict=holds

chan q = [1] of { byte, byte };
active proctype P() {
	byte x;
	q!1,2;
	q?_,x;
	assert(x == 2);
	_ = 17;
	q!3,4;
	q?_,_
}
