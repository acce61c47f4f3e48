// Readers and writers; waiting writers go first.
//
// expect: states=44 transitions=106 verdict=holds

#ifndef R
#define R 2
#endif
#ifndef WRITERS
#define WRITERS 2
#endif

byte reading, writing, waiting;

active [R] proctype Reader() {
	do
	::	atomic { writing == 0 && waiting == 0 -> reading++ };
		assert(writing == 0);
		reading--
	od
}

active [WRITERS] proctype Writer() {
	do
	::	waiting++;
		atomic { writing == 0 && reading == 0 -> writing++; waiting-- };
		assert(writing == 1 && reading == 0);
		writing--
	od
}
