/* A byte is exchanged with another device: the program waits for its end, and any byte comes.
 *
 * device: atmega328p
 * expect: violated assertion violated
 */
#include <avr/io.h>
#include <stdint.h>
#include "../check.h"

int main(void) {
    SPCR = 1 << SPE | 1 << MSTR;
    SPSR = 1 << SPI2X;
    SPDR = 1;
    while (!(SPSR & 1 << SPIF)) {
    }
    check(SPSR & 1 << SPI2X);
    uint8_t answer = SPDR;
    check(answer != 0x5a);
    for (;;) {
    }
}
