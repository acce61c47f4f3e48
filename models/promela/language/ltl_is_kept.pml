// Nor do formulas.
//
// expect: states=8 transitions=8 verdict=holds

byte x;
active proctype P() { do :: x < 3 -> x++ :: x == 3 -> x = 0 od }
ltl always_small { [] (x <= 3) }
ltl { <> (x == 3) && ([] (x == 3 -> <> (x == 0))) }
ltl precedence { (x == 0) U (x == 1 || x == 2) -> ! <> (x == 7) }
ltl words { always (x <= 3 implies eventually (x == 0)) }
