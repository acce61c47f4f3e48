/* One handler for all interrupts that have none.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t n;

ISR(BADISR_vect) {
    n = 1;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;) {
        uint8_t k = PINB & 1;
        check(n == 0);
        PORTB = n + k;
    }
}
