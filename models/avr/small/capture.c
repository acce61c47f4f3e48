/* The timer captures its counter: any value can be found.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

int main(void) {
    TCCR1B = 1 << ICES1 | 1;
    while (!(TIFR1 & 1 << ICF1)) {
    }
    uint16_t at = ICR1;
    check(at != 0x1234);
    for (;;) {
    }
}
