// A choice that begins with a choice is one choice: the inner else sees the options before it, not
// those of the outer choice behind it.
//
// expect: states=23 transitions=28 verdict=holds

byte x, y;
active proctype P() {
	do
	:: if
	   :: x == 1 -> y = 1
	   :: else -> y = 2
	   fi
	:: x < 2 -> x++
	:: x == 2 && y == 2 -> break
	od
}
