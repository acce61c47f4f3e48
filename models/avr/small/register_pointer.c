/* The address of a local variable is in a register that the program keeps for it. A handler uses
 * the register; no variable in memory has the address.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

register volatile uint8_t *target asm("r2");

ISR(TIMER0_OVF_vect) {
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
