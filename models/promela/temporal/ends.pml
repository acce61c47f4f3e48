// A run that ends stays in its last state for ever.
//
// expect: reaches=holds returns=violated next=holds

byte x;

active proctype P() {
	x = 1;
	x = 2
}

ltl reaches { <> [] (x == 2) }
ltl returns { [] <> (x == 0) }
ltl next { X (x == 1) && X X X X (x == 2) }
