/* The program gives a handler the address of a local variable. The handler changes the variable
 * between two reads.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t *volatile target;

ISR(TIMER0_OVF_vect) {
    if (target)
        *target ^= 1;
}

int main(void) {
    volatile uint8_t mine = 0;
    target = &mine;
    TIMSK0 = 1 << TOIE0;
    TCCR0B = 1;
    sei();
    for (;;) {
        uint8_t first = mine;
        uint8_t second = mine;
        check(first == second);
    }
}
