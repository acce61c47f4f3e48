/* A handler that enables interrupts writes a variable of four bytes. Nothing can interrupt it then.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint32_t total;
volatile uint8_t highest;

ISR(PCINT0_vect) {
    PCICR &= ~1;
    sei();
    total = 0;
}

int main(void) {
    PCMSK0 = 3;
    for (;;) {
        cli();
        highest = total >> 24;
        PCICR |= 1;
        sei();
    }
}
