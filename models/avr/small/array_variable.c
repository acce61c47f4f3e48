/* An element of two bytes is read while a handler writes the array. Both indices are variables, and
 * they can be the same.
 *
 * device: atmega328p
 * expect: violated interrupt race
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint16_t samples[4];
volatile uint8_t next;
volatile uint16_t last;

ISR(TIMER0_OVF_vect) {
    uint8_t i = next;
    samples[i] ^= 0x101;
    next = (i + 1) & 3;
}

int main(void) {
    TIMSK0 = 1 << TOIE0;
    TCCR0B = 1;
    sei();
    for (;;)
        last = samples[PINB & 3];
}
