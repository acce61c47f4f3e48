/* Assertions for programs that are checked: a call of `everypath_fail` is a violation. On a device
 * it stops the program. */
#ifndef CHECK_H
#define CHECK_H

#include <avr/interrupt.h>

__attribute__((noinline, noreturn, unused)) static void everypath_fail(void) {
    cli();
    for (;;) {
    }
}

#define check(condition)      \
    do {                      \
        if (!(condition))     \
            everypath_fail(); \
    } while (0)

#endif
