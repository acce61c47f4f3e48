// Constants of an enumeration, and the number of the process.
//
// expect: states=13 transitions=15 verdict=holds

c_decl {
	enum Phase { IDLE, TRY = 4, CRITICAL };
}
c_state "enum Phase phase[3]" "Global"
byte in;

active [3] proctype P() {
	do
	:: atomic {
		c_expr { now.phase[(PP->_pid + 1) % 3] != CRITICAL && now.phase[(PP->_pid + 2) % 3] != CRITICAL } ->
		c_code { now.phase[PP->_pid] = CRITICAL; }
	   };
	   in++;
	   assert(in == 1);
	   in--;
	   c_code { now.phase[PP->_pid] = IDLE; }
	od
}
