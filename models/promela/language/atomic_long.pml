// An atomic sequence of twenty thousand statements is one step, and the assertion at its end is told like any other.
//
// expect: states=3 transitions=2 verdict=violated violation="assertion violated"

int x;
init {
	atomic {
		do
		:: x < 10000 -> x++
		:: else -> break
		od;
		assert(x == 0)
	}
}
