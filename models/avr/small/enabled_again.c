/* Interrupts are enabled again although they are enabled. A handler can run between the two reads.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t count;

ISR(TIMER0_OVF_vect) {
    count++;
}

int main(void) {
    TIMSK0 = 1 << TOIE0;
    TCCR0B = 1;
    sei();
    for (;;) {
        uint8_t first = count;
        sei();
        uint8_t second = count;
        check(first == second);
    }
}
