// A variable of C that is not tracked is not part of the states: here it is written before it is read.
//
// expect: states=73 transitions=128 verdict=holds

c_decl {
	int helper;
}
byte a = 3, b = 5;

active [2] proctype Swap() {
	byte n;
	do
	:: n < 2 -> c_code { helper = now.a; now.a = now.b; now.b = helper + 1; }; n++
	:: else -> break
	od
}
