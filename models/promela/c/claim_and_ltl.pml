// Conditions in C as the atoms of a formula.
//
// expect: states=8 transitions=8 verdict=holds

int level;

active proctype P() {
	do
	:: c_expr { now.level < 3 } -> c_code { now.level++; }
	:: c_expr { now.level == 3 } -> c_code { now.level = 0; }
	od
}
ltl bounded { [] (level <= 3) }
ltl returns { [] (c_expr { now.level == 3 } -> <> c_expr { now.level == 0 }) }
