// Functions in c_code outside processes: with several returns, a loop, a pointer to what they change.
//
// expect: states=857 transitions=1528 verdict=holds

byte a = 12, b = 18, g;
short s;

c_code {
	int gcd(int x, int y)
	{
		while (y != 0) {
			int r = x % y;
			x = y;
			y = r;
		}
		return x;
	}
	void twice(unsigned char *p)
	{
		*p = *p * 2;
	}
	int sign(int v)
	{
		if (v < 0) return -1;
		if (v > 0) return 1;
		return 0;
	}
}

active [2] proctype P() {
	do
	:: a < 40 ->
		c_code {
			twice(&now.a);
			now.g = gcd(now.a, now.b);
		}
	:: b < 60 -> c_code { now.b += gcd(now.a, now.b); now.s = sign(now.b - 36); }
	:: else -> break
	od;
	c_code { now.s = sign(now.a - 40); };
	assert(s >= 0)
}
