// && and || look at their right side only if they need it: no index out of range here.
//
// expect: states=10 transitions=9 verdict=holds

byte a[3] = 7;
byte i;
active proctype P() {
	do
	:: i < 3 && a[i] == 7 -> i++
	:: i >= 3 || a[i] != 7 -> break
	od;
	assert(i == 3)
}
