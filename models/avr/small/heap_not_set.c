/* Memory from the heap is read before it is written.
 *
 * device: atmega328p
 * expect: violated uninitialised read
 */
#include <stdint.h>
#include <stdlib.h>
#include "../check.h"

volatile char seen;

int main(void) {
    char *p = malloc(10);
    check(p != 0);
    seen = p[5];
    return 0;
}
