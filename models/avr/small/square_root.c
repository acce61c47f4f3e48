/* Floating-point functions of the library, some of which begin with a loop.
 *
 * device: atmega328p
 * expect: holds
 */
#include <math.h>
#include "../check.h"

volatile float x = 2.0f, y = 3.5f;
volatile float r;
volatile int k;

int main(void) {
    r = sqrt(x);
    check(r > 1.4142f && r < 1.4143f);
    r = y / x;
    check(r == 1.75f);
    k = (int)(y * 100);
    check(k == 350);
    return 0;
}
