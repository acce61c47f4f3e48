// A variable keeps the low bits of what is stored; expressions are computed in 32 bits.
//
// expect: states=18 transitions=17 verdict=holds

byte b = 255;
bool t;
short s = 32767;
int i = 2147483647;
unsigned u : 3 = 7;
active proctype P() {
	b++;
	assert(b == 0);
	b = -1;
	assert(b == 255);
	t = 2;
	assert(t == 0);
	s++;
	assert(s == -32768);
	i = i + 1;
	assert(i < 0);
	u++;
	assert(u == 0);
	u = 13;
	assert(u == 5);
	b = 200;
	assert(b + b == 400)
}
