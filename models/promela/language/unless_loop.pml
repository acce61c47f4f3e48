// An escape ends a loop; a break in the escape belongs to the loop around.
//
// expect: states=14 transitions=13 verdict=holds

byte x, y;
active proctype P() {
	do
	:: x < 2 -> do :: y++; y = y % 4 od unless { y == 3 -> x++ }
	:: x == 2 -> break
	od
}
