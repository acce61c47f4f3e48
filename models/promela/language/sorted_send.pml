// A sorted send puts the message before the first larger one; all fields count.
//
// expect: states=14 transitions=13 verdict=holds

chan q = [4] of { byte, byte };
active proctype P() {
	byte a, b;
	q!!2,1; q!!2,0; q!!1,9; q!!3,0;
	q?a,b; assert(a == 1 && b == 9);
	q?a,b; assert(a == 2 && b == 0);
	q?a,b; assert(a == 2 && b == 1);
	q?a,b; assert(a == 3 && b == 0)
}
