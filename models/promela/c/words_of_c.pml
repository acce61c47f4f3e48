// `inline` and `extern` in declarations, and the local variables of `init`.
//
// expect: states=98 transitions=167 verdict=holds

c_decl {
	extern int count;
	static inline int square(int v) { return v * v; }
	int count = 2;
}
c_track "&count" "sizeof(int)"

byte x;
chan q = [1] of { byte };

proctype Child(byte n) {
	c_code { count += square(PChild->n); };
	q!n
}

init {
	byte sum, v;
	run Child(1);
	run Child(3);
	do
	:: q?v -> sum = sum + v; c_code { now.x = Pinit->sum; }
	:: c_expr { Pinit->sum == 4 } -> break
	od;
	c_code { now.x = count; }
}
