/* The EEPROM interrupts when it is ready.
 *
 * device: atmega328p
 * level: -Os
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t busy;

ISR(EE_READY_vect) {
    EECR &= ~(1 << EERIE);
    busy = 0;
}

int main(void) {
    sei();
    for (;;) {
        if (!busy) {
            busy = 1;
            EEAR = 0;
            EEDR = PINB & 1;
            cli();
            EECR |= 1 << EEMPE;
            EECR |= 1 << EEPE;
            EECR |= 1 << EERIE;
            sei();
        }
        check(busy < 2);
    }
}
