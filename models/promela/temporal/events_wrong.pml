// A message comes twice, within an atomic sequence.
//
// expect: :trace:=violated

chan q = [2] of { byte };

active proctype P() {
	q!1;
	atomic { q!2; q!2 }
}

active proctype Q() {
	q?1; q?2; q?2
}

trace { q!1; q!2; q!3 }
