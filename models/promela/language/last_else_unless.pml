// _last in escapes, in eval and beside else: during a rendezvous the receiver sees the sender.
//
// expect: states=1196 transitions=2182 verdict=violated violation="invalid end state"

byte x;
chan q = [0] of { byte };
active proctype A() { do :: x < 3 -> { x++; q!_last } unless { (_last == 1) } :: else -> break od }
active proctype B() { byte n; do :: q?eval(_last) -> n = 1 :: q?n -> n = 2 + _last :: x == 3 && _last == 0 -> break od }
active proctype C() { if :: _last == 2 :: else -> x = x + _last fi; atomic { if :: _last == 0 -> x = 2 :: _last == 2 -> x = 1 fi } }
