// c_state in a process type: every process has its own.
//
// expect: states=157 transitions=288 verdict=holds

c_state "int mine" "Local Owner" "4"
c_state "unsigned char seen[2]" "Local Owner"

byte rounds;

active [2] proctype Owner() {
	do
	:: c_expr { POwner->mine > 0 } ->
		c_code {
			POwner->mine--;
			POwner->seen[POwner->mine % 2]++;
		}
	:: else -> break
	od;
	rounds++;
	c_expr { POwner->seen[0] == 2 && POwner->seen[1] == 2 }
}
