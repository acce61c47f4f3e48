// A label on the first statement of an option belongs to what follows it.
//
// expect: states=5 transitions=5 verdict=holds

chan q = [1] of { byte };
active proctype P() {
	byte x;
	do
	:: q?x -> end: q?x
	od
}
active proctype Q() {
	q!1
}
