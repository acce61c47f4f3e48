/* A function with room for variables passes arguments on the stack, and calls again.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/io.h>
#include <stdarg.h>
#include <stdint.h>
#include "../check.h"

__attribute__((noinline)) static uint16_t add(uint8_t n, ...) {
    va_list all;
    va_start(all, n);
    uint16_t sum = 0;
    while (n--)
        sum += va_arg(all, int);
    va_end(all);
    return sum;
}

__attribute__((noinline)) static uint8_t twice(uint8_t n) {
    volatile uint8_t room[20];
    for (uint8_t i = 0; i < sizeof room; i++)
        room[i] = n;
    uint8_t first = add(3, 1, 2, room[3]);
    uint8_t second = add(6, 1, 2, 3, 4, 5, room[19]);
    return first + second;
}

int main(void) {
    for (;;) {
        uint8_t n = PINB & 3;
        check(twice(n) == 18 + 2 * n);
    }
}
