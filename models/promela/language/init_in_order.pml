// init takes its number from its place in the text.
//
// expect: states=15 transitions=24 verdict=holds

active proctype A() { assert(_pid == 0) }
init { assert(_pid == 1) }
active proctype B() { assert(_pid == 2) }
