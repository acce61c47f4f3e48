// An offer that no process takes is not an event. SPIN says that it is one, and finds a violation.
//
// expect: :trace:=holds

chan q = [0] of { byte };

active proctype P() {
end:	q!1
}

trace { end: q!2; q?2 }
