/* An interrupt without a handler is enabled through a pointer.
 *
 * device: atmega328p
 * expect: violated interrupt without a handler
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t *volatile const masks[] = {&TIMSK0, &TIMSK1};
volatile uint8_t count;

ISR(TIMER0_OVF_vect) {
    count = 1;
}

int main(void) {
    TCCR0B = 1;
    TCCR1B = 1;
    TIMSK0 = 0;
    TIMSK1 = 0;
    sei();
    *masks[PINB & 1] = 1;
    for (;;) {
    }
}
