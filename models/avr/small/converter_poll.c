/* Polling of the converter: a result has ten bits.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint8_t hot;

int main(void) {
    ADMUX = 1 << REFS0;
    ADCSRA = 1 << ADEN | 7;
    for (;;) {
        ADCSRA |= 1 << ADSC;
        while (ADCSRA & 1 << ADSC) {
        }
        uint16_t value = ADC;
        check(value < 1024);
        hot = value > 700;
    }
}
