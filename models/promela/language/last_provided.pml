// _last in a provided clause is looked at before each statement, inside atomic and by a receiver too.
//
// expect: states=736 transitions=1623 verdict=violated violation="invalid end state"

byte x;
chan q = [0] of { byte };
active proctype A() provided (_last != 0) { x = 1; atomic { x = 2; x = 3 }; q!1 }
active proctype B() provided (_last != 1) { x = 4; x = 5; q?x }
active proctype C() { x = 6; x = 7; x = 8; q!2 }
active proctype D() { do :: q?x :: break od }
