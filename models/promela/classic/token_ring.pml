// A token on a ring lets one station send at a time. The token may be lost once; a monitor makes a new one.
//
// expect: states=35 transitions=42 verdict=holds

#ifndef N
#define N 3
#endif

chan ring[N] = [1] of { bit };
byte sending;
bool lost;

active [N] proctype Station() {
	do
	:: ring[_pid]?1 ->
		if
		:: sending++; assert(sending == 1); sending--
		:: skip
		fi;
		ring[(_pid + 1) % N]!1
	od
}

active proctype Monitor() {
	ring[0]!1;
	do
	:: timeout -> ring[0]!1
	od
}

active proctype Thief() {
end:	if
	:: ring[1]?1 -> lost = true
	fi
}
