/* A variable of two bytes is written through a pointer that moves. A formula never sees it half
 * written.
 *
 * device: atmega328p
 * ltl: [] (words[0] == 0 || words[0] == 257)
 * expect: holds
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

uint16_t words[4];

__attribute__((noinline)) void fill(uint16_t *to, uint16_t value) {
    for (uint8_t i = 0; i < 4; i++)
        *to++ = value;
}

int main(void) {
    for (;;) {
        fill(words, 257);
        fill(words, 0);
    }
}
