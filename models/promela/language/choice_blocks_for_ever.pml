// A choice whose options are never possible is a deadlock.
//
// expect: states=1 transitions=0 verdict=violated violation="invalid end state"

byte x;
active proctype P() {
	if
	:: x == 1 -> x = 2
	:: false
	fi
}
