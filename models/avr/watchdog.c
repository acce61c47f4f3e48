/* A program that waits for a byte without feeding the watchdog.
 *
 * device: atmega328p
 * expect: violated property
 */
#include <avr/io.h>
#include <avr/wdt.h>
#include <stdint.h>

int main(void) {
    UCSR0B = 1 << RXEN0;
    wdt_enable(WDTO_1S);
    for (;;) {
        wdt_reset();
        while (!(UCSR0A & 1 << RXC0)) {
        }
        PORTB = UDR0 & 1;
    }
}
