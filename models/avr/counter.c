/* Counts: a large state space, for measurements. A timer counts ticks, and the main program keeps
 * the low byte of the number that it saw last.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

volatile uint16_t ticks;
volatile uint8_t seen;

ISR(TIMER0_OVF_vect) {
    ticks++;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;) {
        cli();
        uint16_t now = ticks;
        sei();
        seen = now;
        PORTB = seen ^ (now >> 8 & 1);
    }
}
