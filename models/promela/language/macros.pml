// The preprocessor: definitions with and without parameters, conditions, included files.
//
// expect: states=8 transitions=7 verdict=holds

#include "macros.h"
#define LIMIT 3
#define INC(v) v = v + STEP
#if defined(STEP) && STEP == 2 && !defined(NOTHING)
#define CHOSEN 1
#elif LIMIT > 3
#error not here
#else
#define CHOSEN 0
#endif
#ifndef CHOSEN
#error not here either
#endif
byte x;
active proctype P() {
	do
	:: x < LIMIT -> INC(x)	/* a comment */
	:: else -> break	// another
	od;
	assert(x == 4 && \
		CHOSEN)
}
