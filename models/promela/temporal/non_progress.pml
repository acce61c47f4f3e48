// Progress labels: a loop without one is found by --non-progress.
//
// expect progress: progress=violated
// expect progress weak: progress=holds

byte x;

active proctype Worker() {
	do
	:: x == 0 -> x = 1
	:: x == 1 ->
progress:	x = 0
	od
}

active proctype Idler() {
	do
	:: skip
	od
}
