// q?[…] asks whether a receive would be possible; it is an expression.
//
// expect: states=7 transitions=6 verdict=holds

chan q = [2] of { byte, byte };
byte y = 5;
active proctype P() {
	assert(!q?[1,_]);
	q!1,5; q!2,6;
	assert(q?[1,_] && !q?[2,_] && q??[2,6] && !q??[2,7] && q?[1,eval(y)]);
	assert(q?[_,_] && len(q) == 2)
}
