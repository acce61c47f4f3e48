// A function with a static variable, which is never called.
//
// expect: states=4 transitions=3 verdict=holds

c_code { int next() { static int n = 0; n = (n + 1) % 3; return n; } }
byte x;
active proctype P() { c_code { now.x = 4; int i; for (i = 0; i < 3; i++) now.x += i; }; assert(x == 7) }
