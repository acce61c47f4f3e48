// enabled(p) where p waits for a timeout: true while the process that asks is itself looked at for a timeout.
//
// expect: states=13 transitions=15 verdict=violated violation="invalid end state"

byte x, y;
active proctype A() { timeout -> x = 1 }
active proctype B() { enabled(0) -> y = 1 }
