// A relay circuit whose keys and contacts are switched in any order, watched by a process that asserts how they
// belong together. It is the model "Relay" of the measurements of HSF-SPIN (2001), table 7, after its description.
//
// expect: states=1026 transitions=3715 verdict=violated violation="assertion violated"

bool k14_1, k14_2, k12_1, k12_2, s1_1, s1_2, serving;

proctype Watch() {
	do
	:: assert(((k14_1 == (s1_1 && !k12_1)) && (k12_1 == (serving && (!s1_1 || k12_1))) && (k14_2 == (s1_2 && !k12_2)) &&
	           (k12_2 == (serving && (!s1_2 || k12_2))) && (serving == (k14_1 || k14_2))) <= (!(k14_1 && k14_2)))
	od
}

proctype Switch() {
	do
	:: k14_1 = 1 -> true
	:: k14_1 = 0 -> true
	:: k14_2 = 1 -> true
	:: k14_2 = 0 -> true
	:: k12_1 = 1 -> true
	:: k12_1 = 0 -> true
	:: k12_2 = 1 -> true
	:: k12_2 = 0 -> true
	:: s1_1 = 1 -> true
	:: s1_1 = 0 -> true
	:: s1_2 = 1 -> true
	:: s1_2 = 0 -> true
	:: serving = 1 -> true
	:: serving = 0 -> true
	od
}

init {
	run Watch();
	run Switch()
}
