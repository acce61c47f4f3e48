// A d_step counts for _last when it is over: its own statements see who moved before it.
//
// expect: states=134 transitions=217 verdict=holds

byte x, y;
active proctype A() { x = 1; x = 2 }
active proctype B() { d_step { y = 1; y = y + _last; y = y + 2 * _last }; y = 9 + _last }
active proctype C() { atomic { x = 3; d_step { y = 4 + _last; y = y + _last }; y = y + _last } }
