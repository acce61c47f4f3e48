/* The two-wire interface is polled: it has any state afterwards, and the data are any byte.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

int main(void) {
    TWBR = 72;
    TWCR = 1 << TWINT | 1 << TWSTA | 1 << TWEN;
    while (!(TWCR & 1 << TWINT)) {
    }
    if ((TWSR & 0xf8) != 0x08)
        for (;;) {
        }
    TWCR = 1 << TWINT | 1 << TWEN;
    while (!(TWCR & 1 << TWINT)) {
    }
    uint8_t byte = TWDR;
    TWCR = 1 << TWINT | 1 << TWSTO | 1 << TWEN;
    while (TWCR & 1 << TWSTO) {
    }
    check(byte != 0xa5);
    for (;;) {
    }
}
