// Outer escapes go before inner ones, and cover the inner escape's statements too.
//
// expect: states=77 transitions=129 verdict=holds

byte x, y;
active proctype P() {
	{
		{ x = 1; x = 2; x = 3 } unless { y == 1 -> x = 4; x = 5 };
		x = 6
	} unless { y == 2 -> x = 7 };
	x = 8
}
active proctype Q() {
	if :: y = 1; y = 2 :: y = 2 :: y = 1 fi
}
