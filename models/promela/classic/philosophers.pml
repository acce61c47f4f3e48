// Dining philosophers who all take the left fork first: they may starve together.
// With -DPOLITE the last one takes the right fork first.
//
// expect: states=206 transitions=500 verdict=violated violation="invalid end state"

#ifndef N
#define N 4
#endif

bool fork[N];		// taken
byte eating;

#define LEFT _pid
#define RIGHT ((_pid + 1) % N)

inline take(f) { atomic { !fork[f] -> fork[f] = true } }

active [N] proctype Philosopher() {
	do
	::
#ifdef POLITE
		if
		:: _pid == N - 1 -> take(RIGHT); take(LEFT)
		:: else -> take(LEFT); take(RIGHT)
		fi;
#else
		take(LEFT);
		take(RIGHT);
#endif
		eating++;
		assert(eating <= N / 2);
		eating--;
		fork[LEFT] = false;
		fork[RIGHT] = false
	od
}
