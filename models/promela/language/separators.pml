// A line end can stand for a separator, and -> is one.
//
// expect: states=17 transitions=16 verdict=holds

byte x, y
active proctype P() {
	x = 1
	y = 2;;
	if
	:: x == 1
	   -> y = 3
	:: else ->
	fi;
	do
	:: x < 3 -> x++;
	:: x >= 3 -> { break }
	od
	{ x = 5 -> y = 6 }
	unless { y == 9 }
	assert(x == 5 &&
		y == 6)
	x++
	goto out
out:
}
