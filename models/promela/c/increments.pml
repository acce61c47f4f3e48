// The values of ++ and --, of assignments, of the comma, and of calls that change something.
//
// expect: states=102 transitions=138 verdict=holds

byte a[4];
byte i, n, r;

c_code {
	int take(unsigned char *p)
	{
		(*p)--;
		return *p + 1;
	}
}

active proctype P() {
	c_code { now.a[now.i++] = 5; now.a[now.i++] = now.i; };
	c_code { now.r = now.n = 7; now.n -= 2; };
	c_code { now.r = (now.n++, ++now.n) + take(&now.a[0]); };
	c_code { if (now.n > 0 && take(&now.a[1]) > 1) now.r++; else now.r = 0; };
	c_code { while (now.n-- > 3 || take(&now.n) > 9) now.i++; };
	assert(n != 99)
}
active proctype Q() {
	n = 1;
	c_code { now.n = now.n ? now.n++ + 1 : take(&now.n); }
}
