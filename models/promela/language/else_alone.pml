// A lone else can always be taken.
//
// expect: states=5 transitions=4 verdict=holds

byte x;
active proctype P() {
	if
	:: else -> x = 1
	fi;
	do
	:: else -> break
	od
}
