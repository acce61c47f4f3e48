/* Two bit-fields share a byte: a change of one by the program undoes a change of the other by a
 * handler.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile struct {
    uint8_t mine : 3;
    uint8_t theirs : 5;
} shared;
volatile uint8_t expected;

ISR(TIMER0_OVF_vect) {
    expected = (expected + 1) & 3;
    shared.theirs = expected;
}

int main(void) {
    TIMSK0 = 1 << TOIE0;
    TCCR0B = 1;
    sei();
    for (;;) {
        shared.mine ^= 1;
        cli();
        check(shared.theirs == expected);
        sei();
    }
}
