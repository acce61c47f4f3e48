/* A jump out of nested calls.
 *
 * device: atmega328p
 * expect: holds
 */
#include <setjmp.h>
#include <stdint.h>
#include "../check.h"

jmp_buf place;
volatile uint8_t n;

__attribute__((noinline)) void deep(uint8_t k) {
    if (k == 0)
        longjmp(place, 3);
    deep(k - 1);
    n++;
}

int main(void) {
    int r = setjmp(place);
    if (r == 0) {
        deep(4);
        check(0);
    }
    check(r == 3);
    check(n == 0);
    for (;;) {
    }
}
