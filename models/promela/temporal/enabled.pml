// Formulas about which processes can move. The verdicts are also those of SPIN 6.5.2 (`spin -o1 -o2 -o3 -a`, `-DNOREDUCE`). A process that waits
// for a message or for a variable cannot move, and one that has ended cannot either; its end is a step.
//
// expect: some=holds get=holds always=violated filled=holds blocked=holds ended=violated gone=holds early=violated
// expect weak: some=holds get=holds always=violated filled=holds blocked=holds ended=violated gone=holds early=violated

byte x;
bool over;
chan q = [1] of { byte };

active proctype Get() {
	do
	:: x > 0 -> x = x - 1
	:: q?_
	od
}

active proctype Put() {
	do
	:: x < 2 -> x = x + 1
	:: q!1
	od
}

active proctype Once() {
	atomic { x == 1 -> over = true }
}

ltl some { [] (enabled(0) || enabled(1)) }
ltl get { [] <> enabled(0) }
ltl always { <> [] enabled(0) }
ltl filled { [] (!enabled(1) -> (x == 2 && len(q) == 1)) }
ltl blocked { [] (!enabled(0) -> (x == 0 && len(q) == 0)) }
ltl ended { [] (over -> [] !enabled(2)) }
ltl gone { [] ((over && !enabled(2)) -> [] !enabled(2)) }
ltl early { [] (enabled(2) -> over) }
