// A d_step takes as many statements as it needs.
//
// expect: states=4 transitions=3 verdict=violated violation="assertion violated"

int x, y;
init {
	d_step {
		do
		:: x < 50000 -> x++
		:: else -> break
		od;
		y = x
	};
	assert(y == 0)
}
