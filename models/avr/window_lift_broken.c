/* A window lift. Two buttons move the window, a sensor sees a hand in it, and switches tell when it
 * is open or closed. One relay is switched on before the other is off, and
 * the interrupt of the sensor can come in between.
 *
 * device: atmega328p
 * expect: violated property
 * ltl: [] !(motor_up && motor_down)
 * ltl: [] !('PORTB & 1' && 'PORTB & 2')
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdbool.h>
#include <stdint.h>

#include "check.h"

enum { UP = 1 << 2, DOWN = 1 << 3, CLOSED = 1 << 4, OPEN = 1 << 5, HAND = 1 << 6 };

volatile bool motor_up, motor_down;
volatile bool pinched;

static void drive(bool up, bool down) {
    if (up)
        PORTB |= 1;
    else
        PORTB &= ~1;
    motor_up = up;
    if (down)
        PORTB |= 2;
    else
        PORTB &= ~2;
    motor_down = down;
}

ISR(PCINT2_vect) {
    /* A hand in the window: go down at once. */
    if (motor_up && PIND & HAND) {
        pinched = true;
        drive(false, true);
    }
}

int main(void) {
    DDRB = 3;
    PCMSK2 = HAND;
    PCICR = 1 << PCIE2;
    sei();
    for (;;) {
        uint8_t pins = PIND;
        bool up = pins & UP && !(pins & CLOSED) && !(pins & DOWN);
        bool down = pins & DOWN && !(pins & OPEN);
        if (pinched) {
            if (!up)
                pinched = false;
        } else {
            drive(up, down);
        }
    }
}
