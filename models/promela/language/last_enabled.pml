// enabled looks at guards with the _last of the moment.
//
// expect: states=2159 transitions=5312 verdict=violated violation="invalid end state"

byte x;
active proctype A() { do :: x < 4 -> x++ :: else -> break od }
active proctype B() { do :: (_last == 0) -> x = x & 3 :: x == 7 -> break od }
active proctype C() { byte n; do :: enabled(1) -> atomic { n++; if :: enabled(1) -> n = n + 4 :: else fi; if :: n > 12 -> break :: else fi } :: x == 4 -> break od }
