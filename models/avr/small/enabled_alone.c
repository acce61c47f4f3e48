/* Interrupts are enabled although there is no handler and no source.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

int main(void) {
    DDRB = 1;
    sei();
    for (;;)
        PORTB ^= 1;
}
