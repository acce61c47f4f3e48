/* Arguments that were pushed are popped after the call, and were read by the called function.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

__attribute__((noinline)) static uint8_t many(uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                                              uint16_t e, uint16_t f) {
    return (uint8_t)(a + b + c + d + e + f);
}

int main(void) {
    for (;;) {
        uint8_t n = PINB & 3;
        check(many(1, 2, 3, 4, 5, n) == n + 15);
    }
}
