// A forbidden sequence that begins and does not go on. SPIN calls it an invalid end state.
//
// expect: :notrace:=holds

chan q = [1] of { byte };

active proctype P() {
	q!1;
end:	q?2
}

notrace { q!1; q!2 }
