// A process may ask about itself: it is enabled where it can move without the answer, for within `enabled` another
// `enabled` is false. SPIN calls the question an error.
//
// expect: states=3 transitions=2 verdict=holds

byte x;
active proctype P() {
	x = 1 + enabled(_pid);
	assert(x == 2);
end:	if
	:: enabled(_pid) -> assert(false)
	:: x == 1 -> x = 4
	fi
}
