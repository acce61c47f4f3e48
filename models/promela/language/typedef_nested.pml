// Structures in structures, arrays in arrays.
//
// expect: states=13 transitions=12 verdict=holds

typedef In { byte a; short b[2] };
typedef Out { In x; In y[3]; bool f };
Out o[2];
active proctype P() {
	byte i, j;
	do
	:: i < 2 -> o[i].y[i + 1].b[1] = 10 * i - 3; o[i].x.a = i; i++
	:: else -> break
	od;
	assert(o[0].y[1].b[1] == -3 && o[1].y[2].b[1] == 7 && o[1].x.a == 1);
	assert(o[0].y[2].b[1] == 0 && o[1].f == 0)
}
