/* A handler toggles an output by writing a one to its pin, between two reads of the output.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

ISR(TIMER0_OVF_vect) {
    PINB = 1;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;) {
        uint8_t first = PORTB;
        uint8_t second = PORTB;
        check(first == second);
    }
}
