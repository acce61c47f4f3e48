// What a fragment computes breaks an assertion.
//
// expect: states=13 transitions=18 verdict=violated violation="assertion violated"

byte x;

active [2] proctype P() {
	c_code {
		now.x++;
	};
	assert(x < 2)
}
