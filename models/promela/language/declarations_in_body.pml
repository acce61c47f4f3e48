// A declaration after the first statement is a statement: it stores its initial value, zero by default.
//
// expect: states=16 transitions=15 verdict=holds

byte g;
active proctype P() {
	byte a = 2;
	a = 4;
	byte b = a;
	assert(b == 4);
	do
	:: g < 2 -> byte c; assert(c == 0); c = 5; g++
	:: g == 2 -> break
	od
}
