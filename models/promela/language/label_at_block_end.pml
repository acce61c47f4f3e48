// A label may end a block.
//
// expect: states=13 transitions=12 verdict=holds

byte x;
active proctype P() {
	do
	:: x < 3 -> x++; if :: x == 2 -> goto next :: else fi; x++; next:
	:: x >= 3 -> break
	od
}
