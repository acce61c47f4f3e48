/* The address of a local variable is stored in a variable through a pointer that is itself local. A
 * handler changes the local variable.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t other;
volatile uint8_t *volatile target = &other;

ISR(TIMER0_OVF_vect) {
    *target = 1;
}

int main(void) {
    volatile uint8_t local = 0;
    volatile uint8_t *own = &local;
    volatile uint8_t *volatile *place = &target;
    *place = own;
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;) {
        uint8_t first = local;
        check(first == local);
    }
}
