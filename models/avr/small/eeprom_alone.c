/* A program enables the interrupt of the EEPROM and uses none of its other registers.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t came;

ISR(EE_READY_vect) {
    came = 1;
    EECR = 0;
}

int main(void) {
    EECR = 1 << EERIE;
    sei();
    for (;;) {
        check(!came);
    }
}
