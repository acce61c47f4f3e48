// When the time comes, every timeout can be taken; timeout in an expression.
//
// expect: states=16 transitions=15 verdict=holds

byte x;
active proctype P() { timeout -> x = 1; end: timeout && x == 3 -> x = 4 }
active proctype Q() { timeout -> x = 2; x = 3 }
