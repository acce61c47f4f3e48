/* A write behind the end of the variables, of a program without optimisation.
 *
 * device: atmega328p
 * level: -O0
 * expect: violated access outside memory
 */
#include <avr/io.h>
#include <stdint.h>

volatile uint8_t t[4], next = 7;

int main(void) {
    for (;;) {
        uint8_t i = PIND & 7;
        t[i] = 1;
    }
}
