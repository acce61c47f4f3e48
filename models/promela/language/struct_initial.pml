// An initial value of a whole structure has no effect; those of its fields have.
//
// expect: states=6 transitions=5 verdict=holds

typedef T { byte x = 4; short y; bit z };
typedef U { T t[2] = 9; byte z = 3 };
T a[5] = 255;
T b = 7;
T c[2] = { 1, 2 };
U u = 1;
init {
	T d[2] = 3;
	assert(a[0].x == 4 && a[4].x == 4 && a[4].y == 0 && a[1].z == 0);
	assert(b.x == 4 && b.y == 0 && c[1].x == 4);
	assert(u.t[1].x == 4 && u.z == 3);
	assert(d[0].x == 4 && d[1].y == 0)
}
