// Options that begin with d_step, and an else inside one.
//
// expect: states=5 transitions=4 verdict=holds

byte x;
active proctype P() {
	do
	:: d_step { x == 0; x = 1 }
	:: d_step { x == 1; x = 2; x = 3 }
	:: d_step { else -> x = 9; x = 4 }; break
	od
}
