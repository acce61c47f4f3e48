/* Flags of interrupts are polled, and cleared by writing a one. A flag of another bit stays.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t seen;

int main(void) {
    EICRA = 1 << ISC00 | 1 << ISC10;
    PCMSK0 = 1 << PCINT0;
    TCCR0B = 1 << CS00;
    for (;;) {
        if (EIFR & 1 << INTF0) {
            if (EIFR & 1 << INTF1) {
                EIFR = 1 << INTF0;
                check(EIFR & 1 << INTF1);
            }
            EIFR |= 1 << INTF0;
            seen ^= 1;
        }
        if (PCIFR & 1 << PCIF0) {
            PCIFR = 0;
            check(PCIFR & 1 << PCIF0);
            PCIFR = 1 << PCIF0;
            seen ^= 2;
        }
        if (TIFR0 & 1 << TOV0)
            TIFR0 = 1 << TOV0;
    }
}
