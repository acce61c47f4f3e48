// A jump to a d_step, from a loop that ends before it for example, is no jump into it. SPIN refuses this.
//
// expect: states=10 transitions=9 verdict=holds

byte x;
active proctype P() {
	do
	:: x < 2 -> x++
	:: x == 2 -> break
	od;
	d_step { x = 5; x = 6 };
	if
	:: x == 6 -> goto again
	:: x == 7
	fi;
	x = 0;
again:	d_step { x = 7; x = 8 }
}
