/* A watchdog that interrupts first and resets afterwards disables its interrupt when it is taken.
 *
 * device: atmega328p
 * options: -D watchdog=off
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

ISR(WDT_vect) {
}

int main(void) {
    WDTCSR = 1 << WDCE | 1 << WDE;
    WDTCSR = 1 << WDE | 1 << WDIE;
    sei();
    uint8_t before = WDTCSR;
    uint8_t after = WDTCSR;
    check(before == after);
    for (;;) {
    }
}
