/* A handler reads the level of a pin that is an output. The main program raises it for a moment.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

ISR(TIMER0_OVF_vect) {
    check(!(PINB & 1));
}

int main(void) {
    DDRB = 1;
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    PORTB = 1;
    PORTB = 0;
    for (;;) {
    }
}
