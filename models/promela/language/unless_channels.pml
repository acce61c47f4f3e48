// Escapes can wait for messages.
//
// expect: states=36 transitions=44 verdict=holds

chan stop = [1] of { bit };
chan data = [1] of { byte };
byte n;
active proctype P() {
	byte b;
	do
	:: data?b -> n = n + b
	od unless { stop?1 };
	assert(n <= 3)
}
active proctype Q() {
	data!1; data!2; stop!1
}
