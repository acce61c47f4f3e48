/* The compiler makes a copy of the function that reports an error, for the constant that it gets.
 *
 * device: atmega328p
 * level: -O3
 * expect: violated assertion violated
 */
#include <avr/io.h>
#include <stdint.h>

__attribute__((noinline)) static void everypath_fail(int line) {
    PORTB = line;
    for (;;) {
    }
}

volatile uint8_t level;

int main(void) {
    for (;;) {
        level = PINB & 1;
        if (level != 0)
            everypath_fail(77);
    }
}
