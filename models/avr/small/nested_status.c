/* A handler enables interrupts by a write to the status register. A second handler runs in its
 * middle, and there is room for both on the stack.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t inside, inner;

ISR(INT0_vect) {
    volatile uint8_t room[12];
    for (uint8_t i = 0; i < sizeof room; i++)
        room[i] = inside;
    inner = room[3];
}

ISR(TIMER0_OVF_vect) {
    TIMSK0 = 0;
    inside = 1;
    SREG |= 1 << SREG_I;
    inside = 0;
    cli();
    TIMSK0 = 1 << TOIE0;
}

int main(void) {
    TIMSK0 = 1 << TOIE0;
    TCCR0B = 1;
    EICRA = 1 << ISC00;
    EIMSK = 1 << INT0;
    sei();
    for (;;)
        check(inner < 2);
}
