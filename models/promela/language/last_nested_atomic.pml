// _last in atomic sequences inside each other, which block and go on later.
//
// expect: states=249 transitions=386 verdict=holds

byte x, y;
active proctype A() { atomic { x = 1 + _last; atomic { x = x + _last; (y > 0) ; x = x + 4 * _last }; (y > 1); x = x + 16 * _last } }
active proctype B() { y = 1 + _last; atomic { y = 2; (x > 0); y = 3 + _last } }
active proctype C() { atomic { skip; y++ } ; y = y + _last }
