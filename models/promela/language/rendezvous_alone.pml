// Nobody shakes hands with himself.
//
// expect: states=1 transitions=0 verdict=violated violation="invalid end state"

chan q = [0] of { byte };
active proctype P() {
	byte b;
	if
	:: q!1
	:: q?b
	fi
}
