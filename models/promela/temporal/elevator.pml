// An elevator that goes to the floor that was asked for: with weak fairness every call is answered.
//
// expect: answered=violated safe=holds
// expect weak: answered=holds safe=holds

#define FLOORS 3
bool called[FLOORS];
byte at;
bool open;

active proctype Elevator() {
	byte target;
	do
	::	for (target : 0 .. FLOORS - 1) {
			if
			::	called[target] ->
				do
				:: at < target -> at++
				:: at > target -> at--
				:: else -> break
				od;
				open = true;
				called[target] = false;
				open = false
			::	else
			fi
		}
	od
}

active proctype User() {
	do
	:: called[0] = true
	:: called[1] = true
	:: called[2] = true
	od
}

ltl answered { [] (called[2] -> <> (open && at == 2)) }
ltl safe { [] (open -> at < FLOORS) }
