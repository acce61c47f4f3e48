/* A converter in free running mode is polled: it completes again and again.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

int main(void) {
    ADMUX = 1 << REFS0;
    ADCSRA = 1 << ADEN | 1 << ADSC | 1 << ADATE | 7;
    for (uint8_t n = 0; n < 3; n++) {
        while (!(ADCSRA & 1 << ADIF)) {
        }
        ADCSRA |= 1 << ADIF;
    }
    check(0);
}
