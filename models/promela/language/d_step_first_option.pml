// In a d_step the first possible option is taken and no other.
//
// expect: states=6 transitions=5 verdict=holds

byte x;
active proctype P() {
	d_step { if :: x == 9 -> x = 1 :: x == 0 -> x = 2 :: x == 0 -> x = 3 :: else -> x = 4 fi };
	assert(x == 2);
	d_step { x = x + 1; if :: x == 2 -> x = 5 :: x > 2 -> x = 6 :: true -> x = 7 fi; x++ };
	assert(x == 7)
}
