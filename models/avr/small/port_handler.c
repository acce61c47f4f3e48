/* A handler changes a port through a pointer, and the program changes the same port by its name. A
 * change of the handler gets lost.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t *volatile const ports[] = {&PORTB, &PORTC};

ISR(TIMER0_OVF_vect) {
    volatile uint8_t *port = ports[PIND & 1];
    *port |= 1 << 1;
    TIMSK0 = 0;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1 << TOIE0;
    sei();
    PORTB ^= 5;
    PORTC ^= 5;
    while (TIMSK0) {
    }
    check((PORTB | PORTC) & 1 << 1);
    for (;;) {
    }
}
