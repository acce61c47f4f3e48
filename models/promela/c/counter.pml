// c_code changes a global of the model, and c_expr is a guard over it.
//
// expect: states=53 transitions=88 verdict=holds

int x;

active [2] proctype P() {
	do
	:: c_expr { now.x < 5 } -> c_code { now.x++; }
	:: c_expr { now.x >= 5 } -> break
	od;
	assert(x >= 5)
}
