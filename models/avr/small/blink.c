/* A light that blinks for ever: no handler, and a delay in registers.
 *
 * device: atmega328p
 * expect: holds
 */
#define F_CPU 1000000UL
#include <avr/io.h>
#include <util/delay.h>

int main(void) {
    DDRB = 1;
    for (;;) {
        PORTB ^= 1;
        _delay_ms(500);
    }
}
