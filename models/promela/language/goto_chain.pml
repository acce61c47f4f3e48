// Jumps to jumps are followed at once.
//
// expect: states=4 transitions=3 verdict=holds

byte x;
active proctype P() {
	x = 1;
	goto a;
c:	goto d;
	x = 9;
a:	goto b;
	x = 8;
b:	goto c;
d:	assert(x == 1)
}
