// A process that waits for a timeout does not hold back others.
//
// expect: states=7 transitions=6 verdict=holds

byte x;
active proctype A() priority 5 { timeout -> x = 9 }
active proctype B() priority 1 { x = 1; x = 2 }
