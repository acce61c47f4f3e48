// An assertion that does not hold in some run.
//
// expect: states=10 transitions=13 verdict=violated violation="assertion violated"

byte x;
active proctype P() { x = 1; x = 2 }
active proctype Q() { assert(x != 1) }
