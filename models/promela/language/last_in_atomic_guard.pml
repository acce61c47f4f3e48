// A guard inside atomic sees the statement before it.
//
// expect: states=10 transitions=11 verdict=holds

byte x;
active proctype A() { (_last == 1) -> x = 2 }
active proctype B() { atomic { x = 1; (_last == 1); x = 3 } }
