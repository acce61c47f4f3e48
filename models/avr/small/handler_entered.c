/* Interrupts are disabled while a handler runs, even if it does nothing.
 *
 * device: atmega328p
 * ltl: [] (ready -> SREG_I)
 * expect: violated property
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t ready;

EMPTY_INTERRUPT(TIMER0_OVF_vect)

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    ready = 1;
    for (;;) {
    }
}
