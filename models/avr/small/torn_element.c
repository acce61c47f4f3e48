/* An element of an array has two bytes, and a handler writes it while it is read.
 *
 * device: atmega328p
 * expect: violated interrupt race
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

volatile uint16_t s[4];
volatile uint16_t out;

ISR(TIMER0_OVF_vect) {
    s[1]++;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;)
        out = s[1];
}
