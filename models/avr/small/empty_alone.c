/* The transmitter is empty from the beginning, also while it is switched off.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t came;

ISR(USART_UDRE_vect) {
    came = 1;
    UCSR0B = 0;
}

int main(void) {
    UCSR0B = 1 << UDRIE0;
    sei();
    for (;;) {
        check(!came);
    }
}
