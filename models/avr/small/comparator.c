/* The output of the comparator moves, and its flag stays raised until it is cleared.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

int main(void) {
    ACSR = 1 << ACIS1;
    while (!(ACSR & 1 << ACI)) {
    }
    if (!(ACSR & 1 << ACI))
        for (;;) {
        }
    while (ACSR & 1 << ACO) {
    }
    while (!(ACSR & 1 << ACO)) {
    }
    check(ACSR & 1 << ACIS1);
    check(0);
}
