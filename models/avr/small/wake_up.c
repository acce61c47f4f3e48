/* The watchdog only wakes the program up again and again: it needs no feeding.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include <avr/wdt.h>
#include "../check.h"

volatile uint8_t bites;

ISR(WDT_vect) {
    bites++;
    if (bites == 3)
        bites = 0;
}

int main(void) {
    MCUSR = 0;
    cli();
    wdt_reset();
    WDTCSR |= 1 << WDCE | 1 << WDE;
    WDTCSR = 1 << WDIE | 6;
    sei();
    for (;;) {
        check(bites < 3);
        PORTB = bites;
    }
}
