// Who moves at a timeout counts for _last.
//
// expect: states=9 transitions=8 verdict=violated violation="invalid end state"

byte x;
chan q = [1] of { byte };
active proctype A() { timeout -> x = _last; q!1; atomic { timeout -> x = 10 + _last; q?_ } }
active proctype B() { x = 5; (x == 9) ; x = _last }
active proctype C() { q?x; x = 9 + _last; atomic { q!_last; (x == 3) ; x = 20 + _last } }
