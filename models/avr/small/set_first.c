/* A variable that the start-up code does not set is set before it is read.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

uint8_t boots __attribute__((section(".noinit")));
volatile uint8_t seen;

int main(void) {
    if (MCUSR & 1)
        boots = 0;
    MCUSR = 0;
    seen = boots;
    check(seen != 7);
    return 0;
}
