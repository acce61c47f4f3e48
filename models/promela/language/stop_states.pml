// A process at its closing brace is at a valid end, even if it cannot be removed yet.
//
// expect: states=3 transitions=2 verdict=holds

byte x;
active proctype A() { x = 1 }
active proctype B() { x == 1; end_here: x == 7 }
