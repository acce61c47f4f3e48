/* The two bytes of a variable are read by two functions. The value has never been stored.
 *
 * device: atmega328p
 * options: -D races=off
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile union {
    uint16_t both;
    uint8_t halves[2];
} value;

ISR(TIMER0_OVF_vect) {
    value.both ^= 0xffff;
}

__attribute__((noinline)) static uint8_t half(uint8_t i) {
    return value.halves[i];
}

int main(void) {
    TIMSK0 = 1 << TOIE0;
    TCCR0B = 1;
    sei();
    for (;;) {
        uint8_t low = half(0);
        check(low == half(1));
    }
}
