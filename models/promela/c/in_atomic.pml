// Fragments in atomic, d_step and unless.
//
// expect: states=187 transitions=362 verdict=violated violation="invalid end state"

int x, y;

active [2] proctype P() {
	byte k;
	do
	:: k < 2 ->
		atomic { c_code { now.x++; if (now.x > 3) now.x = 0; }; c_expr { now.y < 6 }; c_code { now.y++; } };
		k++
	:: d_step { k == 2 -> c_code { int j; for (j = 0; j < 3; j++) now.y += j; }; k = 3 }
	:: k == 3 -> break
	od
}
active proctype Q() {
	{
		c_expr { now.x == 100 };
		skip
	} unless {
		c_expr { now.y > 5 } -> c_code { now.x = 9; }
	}
}
