/* A register is a variable that a handler changes while the main program reads it twice.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

register uint8_t count __asm__("r3");
volatile uint8_t a, b;

ISR(TIMER0_OVF_vect) {
    __asm__ volatile("com r3");
}

int main(void) {
    __asm__ volatile("clr r3");
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;) {
        __asm__ volatile("mov r18, r3\n mov r19, r3\n sts a, r18\n sts b, r19" ::: "r18", "r19");
        check(a == b);
    }
}
