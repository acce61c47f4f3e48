/* A loop that waits for a variable which nobody changes. It never ends, which is no violation.
 *
 * device: atmega328p
 * expect: holds
 */
#include <stdint.h>

volatile uint8_t flag;

int main(void) {
    while (!flag) {
    }
    return 0;
}
