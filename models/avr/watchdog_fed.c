/* A program that feeds the watchdog in each round, whether a byte has come or not. It tells by a
 * light that the watchdog has reset it.
 *
 * device: atmega328p
 * expect: holds
 * ltl: [] ('restarted' -> 'PORTC & 1 || !running')
 */
#include <avr/io.h>
#include <avr/wdt.h>
#include <stdbool.h>
#include <stdint.h>

volatile bool restarted, running;

int main(void) {
    if (MCUSR & 1 << WDRF) {
        restarted = true;
        PORTC = 1;
    }
    MCUSR = 0;
    UCSR0B = 1 << RXEN0;
    wdt_enable(WDTO_1S);
    running = true;
    for (;;) {
        wdt_reset();
        if (UCSR0A & 1 << RXC0)
            PORTB = UDR0 & 1;
    }
}
