/* Executes programs on simavr, for the comparison of `cargo xtask avr`.
 *
 * Standard input: for each program the address of a register without behaviour and the number of
 * its device in a word, the number of its words, 0 for the end, and the words, all as 16-bit
 * little-endian numbers. A program runs from address 0 until BREAK. Standard output: for each
 * program 32 registers, SREG, SPL, SPH, this register and the first 256 bytes of SRAM. */
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
    static const char *const names[2] = {"atmega328p", "atmega16"};
    static const unsigned flash[2] = {0x8000, 0x4000}, ram[2] = {0x100, 0x60}, end[2] = {0x8ff, 0x45f};
    avr_t *devices[2];
    for (int i = 0; i < 2; i++) {
        devices[i] = avr_make_mcu_by_name(names[i]);
        if (!devices[i] || avr_init(devices[i]))
            return 1;
        devices[i]->log = 0;
    }
    for (;;) {
        int of = word(), words = word(), plain = of & 0xff, which = of >> 8 & 1;
        if (of < 0 || words <= 0)
            break;
        avr_t *avr = devices[which];
        memset(avr->flash, 0xff, flash[which]);
        for (int i = 0; i < words; i++) {
            int value = word();
            if (value < 0 || i >= (int)flash[which] / 2)
                return 2;
            avr->flash[2 * i] = value;
            avr->flash[2 * i + 1] = value >> 8;
        }
        avr->codeend = 2 * words;
        memset(avr->data, 0, end[which] + 1);
        memset(avr->sreg, 0, sizeof avr->sreg);
        avr->data[0x5d] = end[which];
        avr->data[0x5e] = end[which] >> 8;
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
        putchar(avr->data[plain]);
        fwrite(avr->data + ram[which], 1, 256, stdout);
    }
    fflush(stdout);
    return 0;
}
