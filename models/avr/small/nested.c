/* A handler enables interrupts, and a second handler runs in its middle.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t inside, inner;

ISR(INT0_vect) {
    inner = inside;
}

ISR(TIMER0_OVF_vect) {
    TIMSK0 = 0;
    inside = 1;
    sei();
    inside = 2;
    inside = 0;
    cli();
    TIMSK0 = 1 << TOIE0;
}

int main(void) {
    TIMSK0 = 1 << TOIE0;
    TCCR0B = 1;
    EICRA = 1 << ISC00;
    EIMSK = 1 << INT0;
    sei();
    for (;;)
        check(inner != 2);
}
