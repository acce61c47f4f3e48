/* Two bit-fields share a byte. The program changes its own with interrupts disabled.
 *
 * device: atmega328p
 * ltl: [] (shared.theirs < 4)
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include <util/atomic.h>
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
        ATOMIC_BLOCK(ATOMIC_FORCEON) {
            shared.mine ^= 1;
            check(shared.theirs == expected);
        }
    }
}
