// A channel with room keeps the order of messages.
//
// expect: states=131 transitions=226 verdict=holds

chan q = [3] of { byte };
byte last;
active proctype P() {
	byte i;
	do
	:: i < 5 -> i++; q!i
	:: i == 5 -> break
	od
}
active proctype Q() {
	byte x;
	do
	:: q?x -> assert(x == last + 1); last = x
	:: last == 5 -> break
	od
}
