// The number of steps is tracked but not matched: states that differ in it alone count as one.
//
// expect: states=45 transitions=90 verdict=holds

c_decl {
	int steps;
	int last;
}
c_track "&steps" "sizeof(int)" "UnMatched"
c_track "&last" "sizeof(int)" "UnMatched"

byte x, y;

active proctype P() {
	do
	:: x < 4 -> x++; c_code { steps++; last = steps * 2; }
	:: x == 4 -> x = 0; c_code { steps = steps + 10; }
	od
}
active proctype Q() {
	do
	:: c_code { now.y = (now.y + 1) % 3; steps++; }
	od
}
