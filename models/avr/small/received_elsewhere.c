/* A handler takes the received byte, so the flag that the main program has seen is cleared.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t received;

ISR(TIMER0_OVF_vect) {
    received = UDR0;
}

int main(void) {
    UCSR0B = 1 << RXEN0;
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;)
        if (UCSR0A & 1 << RXC0)
            check(UCSR0A & 1 << RXC0);
}
