/* A handler changes a local variable of the main program, whose address it knows.
 *
 * device: atmega328p
 * expect: violated assertion violated
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
        uint8_t x = local, y = local;
        o = PINB & 1;
        check(x == y);
    }
}
