/* The processor sleeps with interrupts disabled: nothing wakes it.
 *
 * device: atmega328p
 * expect: violated invalid end state
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include <avr/sleep.h>

int main(void) {
    EICRA = 2;
    EIMSK = 1;
    cli();
    sleep_enable();
    sleep_cpu();
    return 0;
}

ISR(INT0_vect) {
}
