/* A timer begins conversions: the program waits for one that it has not begun itself.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

int main(void) {
    TCCR0B = 1;
    ADCSRB = 1 << ADTS2;
    ADCSRA = 1 << ADEN | 1 << ADATE | 7;
    while (!(ADCSRA & 1 << ADIF)) {
    }
    while (ADCSRA & 1 << ADSC) {
    }
    check(0);
}
