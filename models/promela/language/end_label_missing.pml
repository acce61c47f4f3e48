// Without such a label, waiting for ever is a deadlock.
//
// expect: states=5 transitions=5 verdict=violated violation="invalid end state"

chan q = [1] of { byte };
active proctype P() {
	byte x;
	do
	:: q?x
	od
}
active proctype Q() {
	q!1
}
