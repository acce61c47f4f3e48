// A receive with fewer fields than the message has is a fault when it is executed.
//
// expect: states=2 transitions=1 verdict=violated violation="message mismatch"

chan q = [1] of { byte, byte };
byte x;
active proctype P() {
	q!1,2;
	q?x
}
