/* A timer is stopped while interrupts are disabled. Its interrupt may be pending, and comes when
 * they are enabled.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t seen;

ISR(TIMER0_OVF_vect) {
    seen = 1;
}

int main(void) {
    TIMSK0 = 1 << TOIE0;
    TCCR0B = 1;
    TCCR0B = 0;
    sei();
    PORTB = 1; /* The instruction after sei() is executed before an interrupt. */
    check(!seen);
    for (;;) {
    }
}
