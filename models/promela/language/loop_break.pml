// break leaves the innermost loop; it takes no step of its own.
//
// expect: states=20 transitions=19 verdict=holds

byte i, j;
active proctype P() {
	do
	:: i < 2 ->
		do
		:: j < 2 -> j++
		:: j == 2 -> break
		od;
		i++;
		j = 0
	:: i == 2 -> break
	od;
	assert(i == 2)
}
