/* Interrupts are enabled by a write to the status register, which is made through a pointer if the
 * compiler does not optimise. The handler runs before they are disabled again.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t ran;

ISR(ADC_vect) {
    ran = 1;
}

int main(void) {
    ADCSRA = 1 << ADEN | 1 << ADIE | 1 << ADSC;
    SREG |= 1 << SREG_I;
    __asm__ volatile("nop");
    __asm__ volatile("nop");
    cli();
    check(!ran);
    for (;;) {
    }
}
