// A variable of C outside the state is tracked: its values are part of the states.
//
// expect: states=396 transitions=803 verdict=holds

c_decl {
	int level = 1;
}
c_track "&level" "sizeof(int)"

byte raised;

active [2] proctype Lift() {
	do
	:: raised < 3 && c_expr { level < 4 } -> c_code { level++; }; raised++
	:: c_expr { level > 0 } -> c_code { level--; }
	:: raised > 2 -> break
	od
}
