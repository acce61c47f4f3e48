// A channel variable without a channel cannot be used.
//
// expect: states=1 transitions=0 verdict=violated violation="invalid channel"

chan q;
chan other = [1] of { byte };
active proctype P() {
	q!1
}
