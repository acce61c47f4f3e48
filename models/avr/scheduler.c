/* Two tasks that give up the processor by themselves. The timer says which of them is due.
 *
 * device: atmega328p
 * expect: holds
 * ltl: [] 'tasks[0].runs <= 3'
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

#include "check.h"

struct task {
    void (*run)(void);
    uint8_t due;
    uint8_t runs;
};

static void blink(void);
static void measure(void);

volatile struct task tasks[2] = {{blink, 0, 0}, {measure, 0, 0}};
volatile uint8_t running;

static void blink(void) {
    check(running == 1);
    PORTB ^= 1;
    tasks[0].runs = (tasks[0].runs + 1) & 3;
}

static void measure(void) {
    check(running == 2);
    PORTB ^= 2;
    tasks[1].runs = (tasks[1].runs + 1) & 1;
}

ISR(TIMER0_COMPA_vect) {
    tasks[0].due = 1;
}

ISR(TIMER2_OVF_vect) {
    tasks[1].due = 1;
}

int main(void) {
    TCCR0B = 3;
    TIMSK0 = 1 << OCIE0A;
    TCCR2B = 5;
    TIMSK2 = 1 << TOIE2;
    sei();
    for (;;) {
        for (uint8_t i = 0; i < 2; i++) {
            if (!tasks[i].due)
                continue;
            tasks[i].due = 0;
            running = i + 1;
            tasks[i].run();
            running = 0;
        }
    }
}
