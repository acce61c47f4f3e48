// Each index is checked by itself, even if the element would lie inside the whole.
//
// expect: states=2 transitions=1 verdict=violated violation="invalid array index"

typedef R { byte c[3] };
R r[2];
active proctype P() {
	byte i = 3;
	r[1].c[2] = 5;
	r[0].c[i] = 1
}
