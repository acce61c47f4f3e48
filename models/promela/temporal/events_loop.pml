// A loop in a trace can be left: `break` stands for no event. SPIN says that a loop with `break` is
// not deterministic.
//
// expect: :trace:=holds

chan q = [2] of { byte };

active proctype P() {
	q!1; q?_; q!1; q?_; q!2; q?_
}

trace { do :: q!1; q?1 :: break od; q!2; q?_ }
