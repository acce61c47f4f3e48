// After A has ended, B may loop for ever without progress. That is fair, because A cannot move any more. `pan -l -f` finds no
// violation because B can also leave the loop; `pan -l` finds one, and so does `pan -a -f` with the claim `accept: do :: true od`.
//
// expect progress: progress=violated
// expect progress weak: progress=violated
// expect progress strong: progress=violated

byte x;

active proctype A() {
	x = 1
}

active proctype B() {
	do
	:: x == 1 -> skip
	:: x == 1 -> break
	od
}
