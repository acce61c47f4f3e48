/* Executes programs on simavr, for the comparison of `cargo xtask avr`.
 *
 * Standard input: for each program the number of its words, 0 for the end, and the words, all as
 * 16-bit little-endian numbers. A program runs from address 0 until BREAK. Standard output: for
 * each program 32 registers, SREG, SPL, SPH, GPIOR0 and the first 256 bytes of SRAM. */
#include <simavr/sim_avr.h>
#include <simavr/sim_core.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BREAK 0x9598
#define MOST 100000

static int word(void) {
    int low = getchar(), high = getchar();
    return low < 0 || high < 0 ? -1 : low | high << 8;
}

int main(void) {
    avr_t *avr = avr_make_mcu_by_name("atmega328p");
    if (!avr || avr_init(avr))
        return 1;
    avr->log = 0;
    for (int words = word(); words > 0; words = word()) {
        memset(avr->flash, 0xff, 0x8000);
        for (int i = 0; i < words; i++) {
            int value = word();
            if (value < 0 || i >= 0x4000)
                return 2;
            avr->flash[2 * i] = value;
            avr->flash[2 * i + 1] = value >> 8;
        }
        avr->codeend = 2 * words;
        memset(avr->data, 0, 0x900);
        memset(avr->sreg, 0, sizeof avr->sreg);
        avr->data[0x5d] = 0xff;
        avr->data[0x5e] = 0x08;
        avr->pc = 0;
        avr->state = cpu_Running;
        for (int steps = 0; steps < MOST; steps++) {
            if ((avr->flash[avr->pc] | avr->flash[avr->pc + 1] << 8) == BREAK)
                break;
            avr->pc = avr_run_one(avr);
        }
        uint8_t sreg = 0;
        for (int i = 0; i < 8; i++)
            sreg |= (avr->sreg[i] != 0) << i;
        fwrite(avr->data, 1, 32, stdout);
        putchar(sreg);
        putchar(avr->data[0x5d]);
        putchar(avr->data[0x5e]);
        putchar(avr->data[0x3e]);
        fwrite(avr->data + 0x100, 1, 256, stdout);
    }
    fflush(stdout);
    return 0;
}
