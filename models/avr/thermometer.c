/* A thermometer: a button starts a measurement, the highest of several samples is shown, and after
 * a while the display goes off.
 *
 * device: atmega16
 * options: -D ADCH=34..43
 * expect: holds
 * ltl: [] ('state == SHOW' -> 'best >= 34')
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdint.h>

#include "check.h"

enum state { OFF, MEASURE, SHOW } __attribute__((packed));

volatile enum state state;
volatile uint8_t best;
static uint8_t samples;
volatile uint8_t pause;

ISR(TIMER0_OVF_vect) {
    if (pause > 0)
        pause--;
}

static uint8_t sample(void) {
    ADCSRA |= 1 << ADSC;
    while (ADCSRA & 1 << ADSC) {
    }
    return ADCH;
}

int main(void) {
    ADMUX = 1 << ADLAR;
    ADCSRA = 1 << ADEN;
    TCCR0 = 5;
    TIMSK = 1 << TOIE0;
    sei();
    for (;;) {
        switch (state) {
        case OFF:
            PORTB = 0;
            if (!(PIND & 1 << 2)) {
                samples = 0;
                best = 0;
                state = MEASURE;
            }
            break;
        case MEASURE: {
            uint8_t value = sample();
            if (value > best)
                best = value;
            if (++samples == 3) {
                pause = 2;
                state = SHOW;
            }
            check(samples <= 3);
            break;
        }
        default:
            PORTB = best;
            if (pause == 0)
                state = OFF;
            break;
        }
    }
}
