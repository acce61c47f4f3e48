// What is taken out of the middle is what was received, and what is sorted in is what was sent. SPIN
// compares with the oldest message and with the last one, and finds a violation.
//
// expect: :trace:=holds

chan q = [2] of { byte };

active proctype P() {
	q!3; q!!1; q??3; q?1
}

trace { q!3; q!1; q?3; q?1 }
