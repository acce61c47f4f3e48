// A structure is sent field by field.
//
// expect: states=11 transitions=11 verdict=holds

typedef M { byte kind; byte data[2] };
chan q = [1] of { byte, M };
active proctype P() {
	M m;
	m.kind = 1; m.data[0] = 2; m.data[1] = 3;
	q!7,m
}
active proctype Q() {
	M n;
	byte a, b, c;
	if
	:: q?7,n -> assert(n.kind == 1 && n.data[1] == 3)
	:: q?7,a,b,c -> assert(a == 1 && b == 2 && c == 3)
	fi
}
