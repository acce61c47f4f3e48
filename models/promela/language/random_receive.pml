// q??x takes the first message that matches, wherever it is.
//
// expect: states=15 transitions=14 verdict=holds

chan q = [4] of { byte, byte };
active proctype P() {
	byte x;
	q!1,10; q!2,20; q!3,30; q!2,21;
	q??2,x; assert(x == 20);
	q??3,x; assert(x == 30);
	q??2,x; assert(x == 21);
	q?x,_; assert(x == 1);
	assert(empty(q))
}
