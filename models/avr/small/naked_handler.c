/* A handler in assembly that changes a register and does not restore it.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t a;

ISR(TIMER0_OVF_vect, ISR_NAKED) {
    __asm__ volatile("ldi r24, 0x55\n reti");
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;) {
        uint8_t x;
        __asm__ volatile("ldi r24, 1\n nop\n nop\n mov %0, r24" : "=r"(x)::"r24");
        a = x;
        check(a == 1);
    }
}
