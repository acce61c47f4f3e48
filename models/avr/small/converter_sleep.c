/* Sleep in the mode that begins a conversion, whose end wakes the processor.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include <avr/sleep.h>
#include "../check.h"

volatile uint8_t last, heater;

ISR(ADC_vect) {
    last = ADCH;
}

int main(void) {
    ADMUX = 1 << REFS0 | 1 << ADLAR;
    ADCSRA = 1 << ADEN | 1 << ADIE | 7;
    set_sleep_mode(SLEEP_MODE_ADC);
    sei();
    for (;;) {
        sleep_enable();
        sleep_cpu();
        sleep_disable();
        heater = last < 75;
    }
}
