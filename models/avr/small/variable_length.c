/* The length of a local array is a variable.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

__attribute__((noinline)) static void fill(uint8_t *bytes, uint8_t count) {
    while (count--)
        bytes[count] = count;
}

__attribute__((noinline)) static uint8_t sum(uint8_t count) {
    volatile uint8_t last[3] = {0, 0, 0};
    uint8_t bytes[count];
    fill(bytes, count);
    for (uint8_t i = 0; i < count; i++)
        last[i % 3] += bytes[i];
    return last[0] + last[1] + last[2];
}

int main(void) {
    for (;;) {
        uint8_t count = 20 + (PINB & 7);
        check(sum(count) == (uint8_t)(count * (count - 1) / 2));
    }
}
