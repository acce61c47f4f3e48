/* A handler uses a pointer of which the main program has written one byte. It leads below the stack
 * then. The handler can be interrupted, so there is no bound on the stack.
 *
 * device: atmega328p
 * options: -D races=off
 * expect: violated access outside memory
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t byte;
volatile uint8_t *volatile target = &GPIOR0;

ISR(TIMER0_OVF_vect) {
    TIMSK0 = 0;
    sei();
    *target = 1;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    target = &byte;
    GPIOR0 = 1;
    for (;;) {
    }
}
