// P rests at a selection whose else can be taken, so it is enabled. SPIN looks at a flag of the process that asks,
// which says that the first option of Q was possible, and so never comes to x == 3.
//
// expect: states=14 transitions=18 verdict=violated violation="assertion violated"

byte x;
active proctype P() {
	if
	:: x == 1 -> skip
	:: else ->
end:		x == 9
	fi
}
active proctype Q() {
	if
	:: x = 2
	:: enabled(0) -> x = 3; assert(false)
	fi
}
