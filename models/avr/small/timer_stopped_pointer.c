/* Timers are stopped through a pointer. The flag of one may have been raised before, and stays
 * raised.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t *volatile const clocks[] = {&TCCR0B, &TCCR2B};
volatile uint8_t which;

int main(void) {
    which = PIND & 1;
    TCCR0B = 1;
    TCCR2B = 1;
    *clocks[which] = 0;
    if (which == 0) {
        check(!(TIFR0 & 1 << TOV0));
    }
    for (;;) {
    }
}
