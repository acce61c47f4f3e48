/* A timer is stopped. Its flag may have been raised before, and stays raised.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/io.h>
#include "../check.h"

int main(void) {
    TCCR0B = 1;
    TCCR0B = 0;
    check(!(TIFR0 & 1 << TOV0));
    for (;;) {
    }
}
