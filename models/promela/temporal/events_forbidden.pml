// `notrace`: a sequence from the beginning that must not happen. Other channels do not count.
//
// expect: :notrace:=violated

chan q = [1] of { byte, bit };
chan r = [0] of { byte };
chan s = [0] of { byte };

active proctype P() {
	if
	:: s!1; q!7(1); r!2
	:: q!8(0)
	fi
}

active proctype Q() {
	end: do
	:: r?_
	:: s?_
	:: q?_, _
	od
}

notrace { q!7(_); q?7(1); r!2; r?2 }
