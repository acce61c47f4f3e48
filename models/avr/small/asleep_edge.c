/* In power-down a rising edge of INT0 is not noticed.
 *
 * device: atmega328p
 * expect: violated invalid end state
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

ISR(INT0_vect) {
}

int main(void) {
    EICRA = 3;
    EIMSK = 1;
    set_sleep_mode(SLEEP_MODE_PWR_DOWN);
    sei();
    for (;;)
        sleep_mode();
}
