// Jumps out of the main part and out of the escape.
//
// expect: states=50 transitions=79 verdict=holds

byte x, y;
active proctype P() {
	{ x = 1; if :: y == 0 -> goto a :: y == 1 -> x = 2 fi; x = 3 } unless { y == 2 -> goto b };
	x = 4;
a:	x = 5;
b:	x = 6
}
active proctype Q() {
	if :: y = 1 :: y = 2 :: y = 0 fi
}
