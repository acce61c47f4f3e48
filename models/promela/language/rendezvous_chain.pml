// A receiver that offers something itself does so in a step of its own.
//
// expect: states=6 transitions=5 verdict=holds

chan a = [0] of { byte };
chan b = [0] of { byte };
byte r;
active proctype P() { a!1 }
active proctype Q() { byte x; atomic { a?x; b!x + 1 } }
active proctype R() { b?r; assert(r == 2) }
