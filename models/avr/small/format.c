/* Functions with many arguments save registers with the help of the library.
 *
 * device: atmega328p
 * expect: holds
 */
#include <stdio.h>
#include <string.h>
#include "../check.h"

char line[24];

int main(void) {
    sprintf(line, "%d-%s-%x", 42, "xy", 255);
    check(!strcmp(line, "42-xy-ff"));
    return 0;
}
