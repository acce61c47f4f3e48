// A never claim does not change the state space: it is a property.
//
// expect: states=8 transitions=8 verdict=holds

byte x;
active proctype P() { do :: x < 3 -> x++ :: x == 3 -> x = 0 od }
never { accept: do :: x != 3 od }
