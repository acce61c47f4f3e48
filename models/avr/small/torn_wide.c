/* A handler changes a number of 64 bits while the program writes it byte by byte.
 *
 * device: atmega328p
 * level: -Os
 * expect: violated interrupt race
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

volatile uint64_t total;

ISR(TIMER0_OVF_vect) {
    total = 0x0102030405060708;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;)
        total = 0;
}
