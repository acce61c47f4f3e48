/* An interface that is switched off never ends an exchange.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

int main(void) {
    SPDR = 1;
    while (!(SPSR & 1 << SPIF)) {
    }
    check(0);
}
