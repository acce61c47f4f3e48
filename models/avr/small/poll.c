/* Polling of flags: a timer and the EEPROM.
 *
 * device: atmega328p
 * level: -Os
 * expect: holds
 */
#include <avr/eeprom.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t overflows, kept;

int main(void) {
    TCCR0B = 1;
    for (;;) {
        if (TIFR0 & 1) {
            TIFR0 = 1;
            overflows = overflows == 2 ? 0 : overflows + 1;
        }
        eeprom_write_byte((uint8_t *)3, overflows);
        kept = eeprom_read_byte((uint8_t *)3);
        check(kept == overflows);
    }
}
