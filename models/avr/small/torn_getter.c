/* A function that the main program and a handler call reads two bytes.
 *
 * device: atmega328p
 * expect: violated interrupt race
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

volatile uint16_t t;
volatile uint16_t out;

__attribute__((noinline)) uint16_t get(void) {
    return t;
}

ISR(TIMER0_OVF_vect) {
    t = get() + 1;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;)
        out = get();
}
