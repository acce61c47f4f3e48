// A cache protocol with three states a line: N caches on one bus, one line of memory.
//
// expect: states=100 transitions=648 verdict=holds

#ifndef N
#define N 3
#endif

mtype = { invalid, shared, modified };
mtype line[N] = invalid;
bit value[N];
bit memory, newest;

inline write_back() {
	i = 0;
	do
	:: i < N ->
		if
		:: line[i] == modified -> memory = value[i]; line[i] = shared
		:: else
		fi;
		i++
	:: i == N -> break
	od
}

active [N] proctype Processor() {
	byte i;
	do
	:: atomic { line[_pid] != invalid -> assert(value[_pid] == newest) }
	:: atomic { line[_pid] == invalid -> write_back(); value[_pid] = memory; line[_pid] = shared; i = 0 }
	:: atomic { line[_pid] == modified -> value[_pid] = 1 - value[_pid]; newest = value[_pid] }
	:: atomic {
		line[_pid] != modified ->
		write_back();
		i = 0;
		do
		:: i < N -> line[i] = invalid; i++
		:: i == N -> break
		od;
		value[_pid] = 1 - newest;
		newest = value[_pid];
		line[_pid] = modified;
		i = 0
	   }
	:: atomic { line[_pid] == modified -> memory = value[_pid]; line[_pid] = invalid }
	od
}
