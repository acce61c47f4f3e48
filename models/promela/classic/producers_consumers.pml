// Producers and consumers with a bounded buffer and counting semaphores.
//
// expect: states=310 transitions=584 verdict=holds

#ifndef P
#define P 2
#endif
#ifndef C
#define C 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif

byte buffer[SLOTS];
byte head, tail;
byte used, free_ = SLOTS;
bool lock;

inline wait(s) { atomic { s > 0 -> s-- } }
inline signal(s) { s++ }
inline enter() { atomic { !lock -> lock = true } }

active [P] proctype Producer() {
	do
	::	wait(free_);
		enter();
		buffer[tail] = 1;
		tail = (tail + 1) % SLOTS;
		lock = false;
		signal(used)
	od
}

active [C] proctype Consumer() {
	do
	::	wait(used);
		enter();
		assert(buffer[head] == 1);
		buffer[head] = 0;
		head = (head + 1) % SLOTS;
		lock = false;
		signal(free_)
	od
}
