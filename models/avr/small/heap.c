/* Memory from the heap.
 *
 * device: atmega328p
 * expect: holds
 */
#include <stdint.h>
#include <stdlib.h>
#include "../check.h"

volatile uint8_t done;

int main(void) {
    char *p = malloc(10), *q = malloc(4);
    check(p != 0 && q != 0);
    p[1] = 'b';
    q[1] = 'c';
    check(p[1] == 'b');
    free(p);
    free(q);
    done = 1;
    return 0;
}
