/* A handler that can be interrupted writes two bytes that another handler uses.
 *
 * device: atmega328p
 * expect: violated interrupt race
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

volatile uint16_t t;

ISR(TIMER0_OVF_vect) {
    t++;
}

ISR(INT0_vect, ISR_NOBLOCK) {
    t = 5;
}

int main(void) {
    EIMSK = 1;
    EICRA = 3;
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;)
        PORTB = 1;
}
