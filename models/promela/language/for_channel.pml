// A loop over the messages of a channel leaves them as they were.
//
// expect: states=17 transitions=16 verdict=holds

typedef M { byte a; byte b };
chan q = [3] of { M };
active proctype P() {
	M m;
	byte sum;
	q!1,2; q!3,4;
	for (m in q) {
		sum = sum + m.a * m.b
	}
	assert(sum == 14 && len(q) == 2 && q?[1,2])
}
