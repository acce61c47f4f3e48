// Choices in an atomic sequence are all followed, and none of the states between is kept.
//
// expect: states=7 transitions=17 verdict=holds

byte x;
active proctype P() {
	atomic {
		if :: x = 1 :: x = 2 :: x = 3 fi;
		if :: x++ :: skip fi;
		do :: x < 4 -> x++ :: x > 1 -> break od
	}
}
active proctype Q() {
end:	atomic { x == 4 -> x = 9 }
}
