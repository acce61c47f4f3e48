/* Both bytes of an element are the same, unless a handler divides the access. The index of each
 * access is a variable.
 *
 * device: atmega328p
 * options: -D races=off
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint16_t samples[2];
volatile uint8_t next;

ISR(TIMER0_OVF_vect) {
    samples[next] ^= 0xffff;
    next ^= 1;
}

int main(void) {
    TIMSK0 = 1 << TOIE0;
    TCCR0B = 1;
    sei();
    for (;;) {
        uint16_t value = samples[PINB & 1];
        check((value >> 8) == (value & 0xff));
    }
}
