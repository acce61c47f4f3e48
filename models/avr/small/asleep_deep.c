/* In power-down the clock of timer 0 stands still: nothing wakes the processor.
 *
 * device: atmega328p
 * expect: violated invalid end state
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

ISR(TIMER0_OVF_vect) {
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1 << TOIE0;
    set_sleep_mode(SLEEP_MODE_PWR_DOWN);
    sei();
    for (;;)
        sleep_mode();
}
