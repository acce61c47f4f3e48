// An enabled that is evaluated for another enabled is false, so that no question goes round in circles. SPIN evaluates it; its verifier
// does not return from two processes that ask about each other. It finds 118 states and 209 transitions here.
//
// expect: states=116 transitions=202 verdict=violated violation="invalid end state"

byte x, y;
active proctype A() { timeout -> x = 1; if :: timeout -> x = 2 :: x == 5 fi }
active proctype B() { do :: enabled(0) -> y = 1 - y :: x == 2 -> break od }
active proctype C() { (enabled(1) && y == 1); x = 5 }
