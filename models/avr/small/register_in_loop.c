/* The compiler keeps the address of a register of a device in a pointer, across loops and calls.
 *
 * device: atmega328p
 * level: -O1
 * expect: holds
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile uint16_t sum;

__attribute__((noinline)) static uint16_t sample(uint8_t channel) {
    ADMUX = 1 << REFS0 | channel;
    ADCSRA |= 1 << ADSC;
    while (ADCSRA & 1 << ADSC) {
    }
    return ADCH;
}

int main(void) {
    ADCSRA = 1 << ADEN;
    for (;;) {
        for (uint8_t channel = 0; channel < 3; channel++) {
            ADCSRA |= 1 << ADIF;
            sum = sample(channel);
            check(sum < 4);
        }
    }
}
