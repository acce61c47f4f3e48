/* The interrupt flag in a formula.
 *
 * device: atmega328p
 * ltl: [] !SREG_I
 * expect: violated property
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

volatile uint8_t n;

ISR(TIMER0_OVF_vect) {
    n ^= 1;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    for (;;) {
        uint8_t k = PINB & 1;
        PORTB = k + n;
        sei();
    }
}
