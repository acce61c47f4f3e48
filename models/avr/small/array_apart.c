/* A handler writes one half of an array and the program reads the other half, each with an index
 * that is a variable. No element is divided.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint16_t samples[4];
volatile uint8_t next;

ISR(TIMER0_OVF_vect) {
    uint8_t i = next;
    samples[2 + i] = 0x101 * i;
    next = i ^ 1;
}

int main(void) {
    TIMSK0 = 1 << TOIE0;
    TCCR0B = 1;
    sei();
    for (;;)
        check(samples[PINB & 1] == 0);
}
