/* Recursion, division, pointers to functions, constants in flash.
 *
 * device: atmega328p
 * expect: holds
 */
#include <avr/pgmspace.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "../check.h"

static const char msg[] PROGMEM = "hello flash";
static const uint16_t tab[] PROGMEM = {1, 10, 100, 1000, 10000};
volatile int16_t a = -1234, b = 7;
volatile uint32_t big = 123456789UL;
volatile uint8_t n = 6;
char buf[16];

__attribute__((noinline)) uint16_t fact(uint8_t k) {
    return k < 2 ? 1 : k * fact(k - 1);
}

static int add(int x, int y) {
    return x + y;
}

static int sub(int x, int y) {
    return x - y;
}

int (*volatile ops[2])(int, int) = {add, sub};

int main(void) {
    check(fact(n) == 720);
    check(a / b == -176);
    check(a % b == -2);
    check(big / 1000 == 123456);
    check(ops[0](3, 4) == 7);
    check(ops[1](3, 4) == -1);
    strcpy_P(buf, msg);
    check(strlen(buf) == 11);
    check(pgm_read_word(&tab[3]) == 1000);
    itoa(a, buf, 10);
    check(!strcmp(buf, "-1234"));
    for (;;) {
    }
}
