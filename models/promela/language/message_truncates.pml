// A field of a message keeps as much as its type: 300 arrives as 44.
//
// expect: states=7 transitions=6 verdict=holds

chan q = [1] of { byte, bit, short };
active proctype P() {
	short s;
	q!300,3,70000;
	q?44,1,s;
	assert(s == 4464);
	q!300,0,0;
	if
	:: q?[300,_,_] -> assert(false)
	:: q?44,_,_
	fi
}
