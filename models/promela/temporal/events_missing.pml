// A process rests at the end, and the events that must come have not come. SPIN says the same.
//
// expect: :trace:=violated

chan q = [1] of { byte };

active proctype P() {
	q!1;
end:	q?2
}

trace { q!1; q?1 }
