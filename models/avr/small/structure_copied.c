/* A structure is copied while a handler writes it.
 *
 * device: atmega328p
 * options: -D races=off
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

struct point {
    uint8_t x, y;
    uint8_t more[6];
};

volatile struct point shared;
volatile uint8_t step;

ISR(TIMER0_OVF_vect) {
    step ^= 1;
    shared.x = step;
    shared.more[5] = step;
}

int main(void) {
    TIMSK0 = 1 << TOIE0;
    TCCR0B = 1;
    sei();
    for (;;) {
        struct point copy = shared;
        check(copy.x == copy.more[5]);
    }
}
