/* A variable that the start-up code does not set has any value at power-on.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <stdint.h>
#include "../check.h"

uint8_t boots __attribute__((section(".noinit")));
volatile uint8_t seen;

int main(void) {
    seen = boots;
    check(seen != 7);
    return 0;
}
