/* When the EEPROM interrupts because it is ready, nothing is being written any more.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

ISR(EE_READY_vect) {
    check(!(EECR & 1 << EEPE));
    EECR &= ~(1 << EERIE);
}

int main(void) {
    sei();
    for (;;) {
        cli();
        EEAR = 0;
        EEDR = 1;
        /* At every level of optimisation, no more than four cycles may pass between the two. */
        __asm__ volatile("sbi %0, %1\n\tsbi %0, %2" : : "I"(_SFR_IO_ADDR(EECR)), "I"(EEMPE), "I"(EEPE));
        EECR |= 1 << EERIE;
        sei();
        while (EECR & 1 << EEPE) {
        }
    }
}
