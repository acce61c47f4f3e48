// Two variables of C: one is matched, the other is not.
//
// expect: states=73 transitions=122 verdict=holds

c_decl {
	typedef struct Log { int n; int at[3]; } Log;
	Log log;
	short mode = 3;
}
c_track "&log" "sizeof(Log)" "UnMatched"
c_track "&mode" "sizeof(short)" "Matched"

active [2] proctype P() {
	byte i;
	do
	:: i < 2 ->
		i++;
		c_code { mode = mode ^ 1; log.n = log.n + 1; log.at[mode & 1] = log.n; }
	:: c_expr { mode == 3 } && i == 2 -> break
	od
}
