// A rendezvous between atomic sequences: each statement on the way counts for _last.
//
// expect: states=405 transitions=583 verdict=holds

byte a, b, c;
chan q = [0] of { byte };
chan r = [0] of { byte };
active proctype A() { atomic { a = 1 + _last; q!3; a = 10 + _last } ; a = 20 + _last }
active proctype B() { atomic { q?b; b = 10 + _last; r!1; b = 20 + _last } ; b = 30 + _last }
active proctype C() { c = 1; r?c; c = 10 + _last }
