/* In a mode in which it is the top of the counter, the register for captures keeps what is written.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

int main(void) {
    TCCR1A = 1 << WGM11;
    TCCR1B = 1 << WGM13 | 1 << WGM12 | 1;
    ICR1 = 0x1234;
    for (;;) {
        uint16_t top = ICR1;
        check(top == 0x1234);
    }
}
