// enabled(p): whether process p could move. For claims; here beside a claim that only looks on.
//
// expect: states=8 transitions=9 verdict=holds

byte x;
active proctype A() { x == 1; x = 2 }
active proctype B() { x = 1 }
never {
	do
	:: enabled(0) && x == 0 -> break
	:: else
	od
}
