// Structures of the model in C, copied whole, and changed through a pointer.
//
// expect: states=355 transitions=623 verdict=holds

typedef Point { short x; short y };
typedef Box { Point low; Point high; byte tag[2] };
Box a, b;

c_code {
	int width(short low, short high)
	{
		return high - low;
	}
}

active proctype Grow() {
	do
	:: a.high.x - a.low.x < 4 ->
		c_code {
			now.a.high.x += 2;
			now.a.tag[0] = width(now.a.low.x, now.a.high.x);
		}
	:: c_expr { now.a.low.y > -2 } -> c_code { now.a.low.y--; }
	:: a.high.x == 4 && a.low.y == -2 -> break
	od
}
active proctype Copy() {
	c_code { now.b = now.a; };
	c_code { now.b.tag[1] = 255; now.b.tag[1]++; };
	assert(b.tag[1] == 0)
}
