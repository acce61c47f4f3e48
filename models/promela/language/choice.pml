// Every option that can be taken is taken by some process.
//
// expect: states=11 transitions=10 verdict=holds

byte x;
active proctype P() {
	if
	:: x = 1
	:: x = 2 -> x = 3
	:: x == 0
	:: x == 9 -> x = 4
	fi;
	x = x + 10
}
