// A file that is included twice: once for nothing, thanks to its guard, and one for a statement each time.
//
// expect: states=5 transitions=4 verdict=holds

#include "include_again.h"
#include "include_again.h"

active proctype P() {
#include "include_again_part.h"
#include "include_again_part.h"
    assert(steps == STEPS + 2)
}
