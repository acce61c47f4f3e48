/* A low level of INT0 and a change of a pin wake the processor from power-down, and timer 2 with a
 * clock of its own from power-save. The handlers tell which of them it was.
 *
 * device: atmega328p
 * options: -D races=off
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t who;

ISR(INT0_vect) {
    who |= 1;
}

ISR(PCINT0_vect) {
    who |= 2;
}

ISR(TIMER2_OVF_vect) {
    who |= 4;
}

ISR(TIMER0_OVF_vect) {
    check(!(who & 8));
}

int main(void) {
    EIMSK = 1;
    PCMSK0 = 1;
    PCICR = 1;
    ASSR = 1 << AS2;
    TCCR2B = 1;
    TIMSK2 = 1;
    for (;;) {
        cli();
        who = 0;
        set_sleep_mode(SLEEP_MODE_PWR_DOWN);
        sleep_enable();
        sei();
        sleep_cpu();
        set_sleep_mode(SLEEP_MODE_PWR_SAVE);
        sleep_cpu();
    }
}
