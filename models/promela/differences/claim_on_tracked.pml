// A never claim asks for a variable of C that is tracked. SPIN evaluates the claim before it has
// restored the variable, misses the run, and reports no error.
//
// expect: states=9 transitions=8 verdict=violated violation="property"

c_decl { int cnt = 2; }
c_track "&cnt" "sizeof(int)"

byte x;

init {
	do
	:: c_expr { cnt < 9 } -> c_code { cnt += 3; now.x += cnt; }
	:: c_expr { cnt >= 9 } -> break
	od
}

never {
	do
	:: true
	:: c_expr { cnt == 5 } -> break
	od;
accept:
	do
	:: c_expr { now.x > 0 }
	od
}
