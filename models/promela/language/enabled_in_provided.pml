// enabled in a provided clause, and of a process with one.
//
// expect: states=72 transitions=90 verdict=violated violation="invalid end state"

byte x, y;
active proctype A() provided (x == 0) { timeout -> x = 1 }
active proctype B() { if :: enabled(0) -> y = 1 :: x == 1 -> y = 2 fi; x = 0 }
active proctype C() provided (enabled(0)) { y = 7 }
