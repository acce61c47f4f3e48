/* A program reads its own code: the vector of the reset is a jump.
 *
 * device: atmega328p
 * options: -D flash=all
 * expect: holds
 */
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <stdint.h>
#include "../check.h"

volatile uint16_t at;

int main(void) {
    at = PINB & 2;
    uint16_t word = pgm_read_word(at);
    check(at == 2 || word == 0x940c);
    check(pgm_read_byte(0x7fff - at) == 0xff);
    for (;;) {
    }
}
