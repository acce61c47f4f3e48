/* Numbers of 32 bits without a sign are compared, divided and shifted as such.
 *
 * device: atmega328p
 * expect: holds
 * ltl: [] 'done == 0 || n > 2147483647 && n >= 3000000001 && n < 3000000002 && !(n < 5)'
 * ltl: [] 'done == 0 || n / 3 == 1000000000 && n % 3 == 1 && n >> 31 == 1 && n / 3000000000 == 1'
 * ltl: [] 'done == 0 || n / d == 3 && n % d == 375000001 && n / 2147483648 == 1'
 * ltl: [] 'done == 0 || small < 0 && small / 2 == -1 && small >> 1 == -2 && (uint8_t)small == 253'
 * ltl: [] 'd == 0 || n / d == 3 || done == 0'
 * ltl: [] 'done ? n > 5u : 0x0 == 00'
 */
#include <avr/io.h>
#include <stdint.h>

volatile uint32_t n, d;
volatile int32_t small;
volatile uint8_t done;

int main(void) {
    n = 3000000001;
    d = 875000000;
    small = -3;
    done = 1;
    for (;;) {
    }
}
