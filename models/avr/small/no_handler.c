/* An interrupt is enabled and has no handler: the device would begin again.
 *
 * device: atmega328p
 * expect: violated interrupt without a handler
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

volatile uint8_t k;

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;) {
        k = PINB & 1;
        PORTB = k;
    }
}
