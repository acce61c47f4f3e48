/* A counter of two bytes that the main program reads while a handler counts.
 *
 * device: atmega328p
 * expect: violated interrupt race
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

volatile uint16_t ticks;
volatile uint16_t seen;

ISR(TIMER0_OVF_vect) {
    ticks++;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;)
        seen = ticks;
}
