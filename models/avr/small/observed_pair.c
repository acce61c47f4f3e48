/* Two variables of two bytes are written through one pointer, one directly after the other. A
 * formula sees both.
 *
 * device: atmega328p
 * ltl: [] (pairs[0].first != 7 && pairs[1].first != 7)
 * expect: violated property
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

struct pair {
    uint16_t first, second;
} pairs[2];

__attribute__((noinline)) void set(struct pair *pair, uint16_t first, uint16_t second) {
    pair->first = first;
    pair->second = second;
}

int main(void) {
    for (;;) {
        set(&pairs[PINB & 1], 7, 8);
        set(&pairs[PINB & 1], 1, 2);
    }
}
