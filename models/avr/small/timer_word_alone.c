/* A register of 16 bits of a timer is written with interrupts disabled.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

ISR(TIMER0_OVF_vect) {
    OCR1B = 0x300;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;) {
        cli();
        OCR1A = 0x102;
        sei();
        check(OCR1A == 0x102);
    }
}
