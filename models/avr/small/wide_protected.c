/* The same with interrupts disabled, and a number of 24 bits beside it.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include <util/atomic.h>

volatile uint64_t total;
volatile __uint24 three;

ISR(TIMER0_OVF_vect) {
    total = 0x0102030405060708;
    three = 0x010203;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;)
        ATOMIC_BLOCK(ATOMIC_FORCEON) {
            total = 0;
            three = 0;
        }
}
