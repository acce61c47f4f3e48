// A long atomic sequence that may be left at every round: each way out is a step, a round longer than the one before it.
//
// expect: states=6004 transitions=6003 verdict=violated violation="assertion violated"

short x;
init {
	atomic {
		do
		:: x < 2000 -> x++
		:: break
		od
	};
	assert(x != 1000)
}
