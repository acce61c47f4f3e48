/* A handler changes a local variable of the main program, which reads it with interrupts disabled.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t *volatile p;
volatile uint8_t o;

ISR(TIMER0_OVF_vect) {
    if (p)
        *p ^= 1;
}

int main(void) {
    volatile uint8_t local = 0;
    p = &local;
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;) {
        cli();
        uint8_t x = local, y = local;
        sei();
        o = PINB & 1;
        check(x == y);
    }
}
