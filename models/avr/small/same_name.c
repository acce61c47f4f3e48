/* Variables of two functions and of the file have one name.
 *
 * device: atmega328p
 * expect: holds
 * ltl: [] 'first::count < 2 && second::count < 4 && same_name.c::count < 8'
 * ltl: [] !<> (first::count == 1 && second::count == 3 && same_name.c::count == 7 && lit.on == 2)
 */
#include <avr/io.h>
#include <stdint.h>

volatile uint8_t count;
volatile struct {
    uint8_t on : 1, kind : 2;
} lit;

__attribute__((noinline)) static void first(void) {
    static volatile uint8_t count;
    count = (count + 1) & 1;
}

__attribute__((noinline)) static void second(void) {
    static volatile uint8_t count;
    count = (count + 1) & 3;
}

int main(void) {
    for (;;) {
        count = (count + 1) & 7;
        first();
        second();
        lit.on = PINB & 1;
    }
}
