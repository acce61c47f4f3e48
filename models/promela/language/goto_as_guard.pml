// A jump takes no step, except where an option begins with it.
//
// expect: states=10 transitions=11 verdict=holds

byte x;
active proctype P() {
again:
	if
	:: goto out
	:: x < 2 -> x++; goto again
	fi;
out:	x = 5
}
