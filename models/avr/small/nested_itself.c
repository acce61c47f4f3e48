/* A handler enables interrupts and can be interrupted by itself again and again.
 *
 * device: atmega328p
 * options: -D stack=32
 * expect: violated stack overflow
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t ready;

ISR(TIMER0_OVF_vect, ISR_NOBLOCK) {
    ready = 1;
}

int main(void) {
    TIMSK0 = 1 << TOIE0;
    TCCR0B = 1;
    sei();
    for (;;) {
    }
}
