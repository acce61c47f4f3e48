// Fields can have initial values.
//
// expect: states=3 transitions=2 verdict=holds

typedef T { byte a = 3; byte b[2] = 4; byte c };
T g[2];
active proctype P() {
	T l;
	assert(g[1].a == 3 && g[0].b[1] == 4 && g[1].c == 0 && l.a == 3 && l.b[0] == 4)
}
