/* A program that feeds the watchdog in each round, and an interrupt. Time is abstract, so interrupts
 * may follow each other for ever, and nobody feeds the watchdog then. A run in which the program
 * itself never moves is not fair.
 *
 * device: atmega328p
 * options: --fair weak
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/wdt.h>
#include <stdint.h>

volatile uint8_t ticks;

ISR(TIMER0_OVF_vect) {
    ticks = !ticks;
}

int main(void) {
    wdt_enable(WDTO_1S);
    TCCR0B = 1;
    TIMSK0 = 1 << TOIE0;
    sei();
    for (;;) {
        wdt_reset();
        PORTB = ticks;
    }
}
