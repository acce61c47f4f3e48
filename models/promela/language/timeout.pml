// timeout can be taken when nothing else in the whole system can.
//
// expect: states=12 transitions=13 verdict=holds

chan q = [1] of { byte };
byte lost;
active proctype P() {
	byte x;
	do
	:: q?x
	:: timeout -> lost = 1; break
	od
}
active proctype Q() {
	if :: q!1 :: skip fi
}
