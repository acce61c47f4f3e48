// In an option, a second skip in a row is dropped unless it is the last statement.
//
// expect: states=19 transitions=20 verdict=holds

byte x;
active proctype P() {
	if
	:: skip; skip; skip; x = 1
	:: skip; skip
	:: true; printf("x"); skip; skip; x = 2
	fi;
	skip; skip; skip;
	x = 3
}
