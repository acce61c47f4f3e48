/* A structure has bit-fields and a member of two bytes, which a handler writes while it is read.
 *
 * device: atmega328p
 * expect: violated interrupt race
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile struct {
    uint8_t on : 1, level : 3;
    uint16_t count;
    uint8_t last : 2;
} state;
volatile uint16_t out;

ISR(TIMER0_OVF_vect) {
    state.count ^= 257;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;)
        out = state.count;
}
