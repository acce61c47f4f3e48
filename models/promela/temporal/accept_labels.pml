// Accept labels without a claim: a loop that passes one is a violation, one that does not is none.
//
// expect: acceptance=violated
// expect weak: acceptance=holds
// expect strong: acceptance=holds

byte turn;

active proctype A() {
	do
	:: turn == 0 ->
accept:		skip
	:: turn == 0 -> turn = 1; break
	od
}

active proctype B() {
	turn == 0 -> turn = 1
}
