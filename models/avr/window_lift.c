/* A window lift. Two buttons move the window, a sensor sees a hand in it, and switches tell when it
 * is open or closed.
 *
 * device: atmega328p
 * expect: holds
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
    motor_up = motor_down = false;
    PORTB = 0;
    if (up)
        PORTB = 1;
    else if (down)
        PORTB = 2;
    motor_up = up && !down;
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
        cli();
        if (pinched) {
            if (!up)
                pinched = false;
        } else {
            drive(up, down);
        }
        sei();
    }
}
