/* A handler changes a number with a point while the program reads it byte by byte.
 *
 * device: atmega328p
 * expect: violated interrupt race
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

volatile float level;
volatile uint8_t seen;

ISR(TIMER0_OVF_vect) {
    level = 1.5f;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;) {
        float now = level;
        seen = ((uint8_t *)&now)[3];
    }
}
