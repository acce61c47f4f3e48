/* A pin is watched as an input and then becomes an output. It may have changed before, and the flag
 * stays raised.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/io.h>
#include "../check.h"

int main(void) {
    PCMSK0 = 1;
    DDRB = 1;
    check(!(PCIFR & 1));
    for (;;) {
    }
}
