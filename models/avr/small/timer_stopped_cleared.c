/* A timer is stopped and its flag cleared, so its interrupt does not come any more.
 *
 * device: atmega328p
 * expect: holds
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
    TIFR0 = 1 << TOV0;
    sei();
    PORTB = 1; /* The instruction after sei() is executed before an interrupt. */
    check(!seen);
    for (;;) {
    }
}
