// A d_step that begins at a timeout sees it to its end, and so does what it asks about others.
//
// expect: states=13 transitions=12 verdict=violated violation="assertion violated"

byte x, y;
active proctype A() { timeout -> x = 1 }
active proctype B() { d_step { timeout -> y = 1; if :: enabled(0) -> y = 3 :: else -> y = 2 fi }; assert(y == 2) }
