// The end of a process is a step of its own; _last keeps its number.
//
// expect: states=79 transitions=97 verdict=holds

byte x;
active proctype A() { byte n; n = run P(1); n = _last; n = run P(2); n = n + _last; (_nr_pr == 1); x = 10 * n + _last }
proctype P(byte v) { x = v }
