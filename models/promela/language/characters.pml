// Quoted characters are numbers.
//
// expect: states=12 transitions=11 verdict=holds

byte c = 'a';
active proctype P() {
	do
	:: c < 'e' -> c++
	:: c == 'e' -> break
	od;
	assert(c == 101 && '\n' == 10 && '\t' == 9)
}
