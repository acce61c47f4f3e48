/* A recursion that goes too deep for the memory if an input says so.
 *
 * device: atmega328p
 * expect: violated stack overflow
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

uint16_t depth(uint16_t n);

uint16_t (*volatile function)(uint16_t) = depth;

__attribute__((noinline)) uint16_t depth(uint16_t n) {
    volatile uint8_t room[10];
    room[n & 7] = n;
    return n == 0 ? 0 : room[n & 7] + function(n - 1);
}

int main(void) {
    for (;;)
        depth(PINB & 1 ? 3 : 300);
}
