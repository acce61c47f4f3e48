/* An assertion of the library: `abort` lies directly behind the call.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <assert.h>
#include <avr/io.h>
#include <stdint.h>

volatile uint8_t v;

int main(void) {
    for (;;) {
        v = PINB & 3;
        assert(v != 3);
    }
}
