/* Members of a structure with bit-fields have names in formulas.
 *
 * device: atmega328p
 * ltl: [] (state.level < 5 && (state.on -> state.count == 257))
 * expect: violated property
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

volatile struct {
    uint8_t on : 1, level : 3;
    uint16_t count;
    uint8_t last : 2;
} state;

int main(void) {
    state.count = 257;
    state.on = 1;
    state.level = 4;
    state.last = PINB & 3;
    if (state.last == 2)
        state.level = 6;
    for (;;) {
    }
}
