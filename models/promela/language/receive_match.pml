// Constants, names of messages and eval(…) must match; variables take what comes.
//
// expect: states=8 transitions=7 verdict=holds

mtype = { a, b };
chan q = [2] of { mtype, byte, short };
active proctype P() {
	byte x = 3;
	short s;
	q!a,3,-5;
	if
	:: q?b,_,_ -> assert(false)
	:: q?a,4,s -> assert(false)
	:: q?a,eval(x + 1),s -> assert(false)
	:: q?a,eval(x),s -> assert(s == -5)
	fi;
	q!b(7,8);
	q?b(x,8);
	assert(x == 7)
}
