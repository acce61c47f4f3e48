/* A table of a `switch` statement: the depth of the stack is known all the same.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t out;

__attribute__((noinline)) uint8_t f(uint8_t s) {
    switch (s) {
    case 0: return 3;
    case 1: return 17;
    case 2: return 5;
    case 3: return PINB;
    case 4: return 99;
    case 5: return 4;
    case 6: return PORTC;
    case 7: return 13;
    case 8: return 66;
    case 9: return 12;
    default: return 0;
    }
}

int main(void) {
    for (;;) {
        uint8_t p = PIND;
        out = f(p & 15);
        PORTB = out;
        if (p == 200)
            check(out == 66);
    }
}
