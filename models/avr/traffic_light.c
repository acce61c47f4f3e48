/* A crossing with lights for cars and for people. A timer counts the seconds of a phase, and a
 * button asks for a green light.
 *
 * device: atmega328p
 * expect: holds
 * ltl: [] !('PORTB & 4' && 'PORTB & 16')
 * ltl: [] ('phase == WALK' -> <> 'phase == STOP' || [] 'phase == WALK')
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdbool.h>
#include <stdint.h>

#include "check.h"

enum { CARS_RED = 1, CARS_YELLOW = 2, CARS_GREEN = 4, WALK_RED = 8, WALK_GREEN = 16 };

enum phase { DRIVE, SLOW, WALK, STOP } __attribute__((packed));

static const uint8_t lights[] = {
    CARS_GREEN | WALK_RED,
    CARS_YELLOW | WALK_RED,
    CARS_RED | WALK_GREEN,
    CARS_RED | WALK_RED,
};

volatile enum phase phase;
volatile uint8_t seconds;
volatile bool wanted;

ISR(TIMER1_COMPA_vect) {
    if (seconds > 0)
        seconds--;
}

ISR(INT0_vect) {
    wanted = true;
}

static void enter(enum phase next, uint8_t duration) {
    phase = next;
    PORTB = lights[next];
    cli();
    seconds = duration;
    sei();
}

int main(void) {
    DDRB = 0x1f;
    EIMSK = 1 << INT0;
    TCCR1B = 1 << CS12;
    TIMSK1 = 1 << OCIE1A;
    sei();
    enter(DRIVE, 3);
    for (;;) {
        check(seconds <= 3);
        if (seconds > 0)
            continue;
        switch (phase) {
        case DRIVE:
            if (wanted) {
                wanted = false;
                enter(SLOW, 1);
            }
            break;
        case SLOW:
            enter(WALK, 2);
            break;
        case WALK:
            enter(STOP, 1);
            break;
        default:
            enter(DRIVE, 3);
            break;
        }
    }
}
