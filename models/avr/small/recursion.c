/* A recursion whose depth is bounded by an input.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

__attribute__((noinline)) static uint8_t sum(uint8_t n) {
    return n == 0 ? 0 : (uint8_t)(n + sum(n - 1));
}

uint8_t (*volatile function)(uint8_t) = sum;

int main(void) {
    for (;;) {
        uint8_t n = PINB & 7;
        check(function(n) == n * (n + 1) / 2);
    }
}
