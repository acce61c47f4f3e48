/* The registers of 16 bits of a timer share a byte for the upper half of what is written. A handler
 * writes one of them while the main program writes another.
 *
 * device: atmega328p
 * expect: violated assertion violated
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
        OCR1A = 0x102;
        check(OCR1A == 0x102);
    }
}
