/* The main program moves the result of the converter to the left for a moment. A handler reads the
 * upper byte then, which has other bits.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

ISR(TIMER0_OVF_vect) {
    check(ADCH < 4);
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    ADMUX = 0x20;
    ADMUX = 0;
    for (;;) {
    }
}
