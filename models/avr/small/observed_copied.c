/* A structure of two variables of two bytes is copied through a pointer. A formula sees both.
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
} pairs[2], zero, source = {7, 8};

__attribute__((noinline)) void copy(struct pair *to, const struct pair *from) {
    *to = *from;
}

int main(void) {
    for (;;) {
        copy(&pairs[PINB & 1], &source);
        copy(&pairs[PINB & 1], &zero);
    }
}
