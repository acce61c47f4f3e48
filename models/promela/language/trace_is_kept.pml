// Traces change no count, and are checked.
//
// expect: states=7 transitions=6 verdict=holds

mtype = { a, b };
chan q = [1] of { mtype };
active proctype P() { q!a; q!b }
active proctype Q() { q?a; q?b }
trace { do :: q!a; q?a; q!b; q?b od }
