/* A handler reads the EEPROM between a read of the main program and the use of its result.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

uint8_t byte __attribute__((section(".eeprom"))) = 7;

ISR(TIMER0_OVF_vect) {
    EEARL = 1;
    EECR |= 1 << EERE;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    EEARH = 0;
    EEARL = 0;
    EECR |= 1 << EERE;
    sei();
    __asm__ volatile("nop");
    check(EEDR == 7);
    for (;;) {
    }
}
