/* Runs firmware on simavr and tells the state after each instruction, for the comparison of
 * `cargo xtask avr --examples`.
 *
 * Arguments: the ELF file, the device, the address of main in words, the bytes of SRAM to tell, the
 * number of instructions, a seed, the bytes of EEPROM to tell, and the addresses of output registers
 * to tell. Inputs change at random: pins, received bytes, voltages. Standard output, from main on:
 * for each instruction its address in words (two bytes), 1 if the processor sleeps, 32 registers,
 * SREG, SPL, SPH, the bytes of SRAM, the output registers, and a checksum of the EEPROM (FNV-1a, four
 * bytes). */
#include <simavr/avr_adc.h>
#include <simavr/avr_eeprom.h>
#include <simavr/avr_ioport.h>
#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_core.h>
#include <simavr/sim_elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t seed;

static unsigned below(unsigned bound) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 33) % bound;
}

/* Time that is slept away costs nothing here. */
static void no_sleep(avr_t *avr, avr_cycle_count_t how_long) {
    (void)avr;
    (void)how_long;
}

/* The data sheet: the serial port has room for a byte after a reset. simavr says so only if the
 * transmitter is on. */
static avr_io_read_t read_status;

static uint8_t status_by_data_sheet(avr_t *avr, avr_io_addr_t addr, void *parameter) {
    uint8_t status = read_status ? read_status(avr, addr, parameter) : avr->data[addr];
    uint8_t control = avr->data[addr == 0xc0 ? 0xc1 : 0x2a];
    return control & 8 ? status : status | 0x20;
}

/* The data sheet: writing a one clears the flag of an interrupt, and a zero leaves it alone. SBI and
 * CBI write one bit only. simavr stores what is written to the flags of the converter and of the
 * external interrupts, so a one raises them, and flags of timers clear each other. */
static avr_io_write_t write_converter;
static void *converter;

static void flags_by_data_sheet(avr_t *avr, avr_io_addr_t addr, uint8_t value, void *is_converter) {
    unsigned word = avr->flash[avr->pc] | avr->flash[avr->pc + 1] << 8;
    uint8_t flags = is_converter ? 0x10 : 0xff, ones = value & flags;
    if ((word & 0xfd00) == 0x9800 && !is_converter)
        ones = word & 0x200 ? 1 << (word & 7) : 0;
    for (int i = 0; i < avr->interrupts.vector_count; i++) {
        avr_int_vector_t *vector = avr->interrupts.vector[i];
        if (vector->raised.reg == addr && ones & 1 << vector->raised.bit)
            avr_clear_interrupt(avr, vector);
    }
    value = (value & ~flags) | (avr->data[addr] & flags & ~ones);
    if (is_converter)
        write_converter(avr, addr, value, converter);
    else
        avr->data[addr] = value;
}

/* The registers of flags: first that of the converter, then those with nothing but flags. */
static void correct_flags(avr_t *avr, int is_old) {
    static const uint8_t places[2][7] = {{0x7a, 0x35, 0x36, 0x37, 0x3b, 0x3c}, {0x26, 0x58, 0x5a}};
    for (const uint8_t *place = places[is_old]; *place; place++) {
        unsigned io = AVR_DATA_TO_IO(*place);
        int is_converter = place == places[is_old];
        if (is_converter) {
            write_converter = avr->io[io].w.c;
            converter = avr->io[io].w.param;
        }
        avr->io[io].w.c = flags_by_data_sheet;
        avr->io[io].w.param = is_converter ? avr : 0;
    }
}

/* The data sheet: the high byte of a register of 16 bits waits in TEMP, which all registers of the
 * timer share, until the low byte is written. simavr stores it at once. */
static uint8_t temp;
static avr_io_write_t write_low[4];
static void *parameters[4];

static void high_by_data_sheet(avr_t *avr, avr_io_addr_t addr, uint8_t value, void *parameter) {
    (void)avr;
    (void)addr;
    (void)parameter;
    temp = value;
}

static void low_by_data_sheet(avr_t *avr, avr_io_addr_t addr, uint8_t value, void *number) {
    unsigned which = (unsigned)(uintptr_t)number;
    avr->data[addr + 1] = temp;
    if (write_low[which])
        write_low[which](avr, addr, value, parameters[which]);
    else
        avr->data[addr] = value;
}

/* The low bytes of TCNT1, ICR1, OCR1B and OCR1A. */
static void correct_words(avr_t *avr, int is_old) {
    static const uint8_t places[2][4] = {{0x84, 0x86, 0x8a, 0x88}, {0x4c, 0x46, 0x48, 0x4a}};
    for (unsigned which = 0; which < 4; which++) {
        unsigned io = AVR_DATA_TO_IO(places[is_old][which]);
        write_low[which] = avr->io[io].w.c;
        parameters[which] = avr->io[io].w.param;
        avr->io[io].w.c = low_by_data_sheet;
        avr->io[io].w.param = (void *)(uintptr_t)which;
        avr->io[io + 1].w.c = high_by_data_sheet;
    }
}

static void excite(avr_irq_t *irq, uint32_t value) {
    if (irq)
        avr_raise_irq(irq, value);
}

static void disturb(avr_t *avr) {
    if (below(40) == 0)
        excite(avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ("ABCD"[below(4)]), below(8)), below(2));
    if (below(200) == 0)
        excite(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT), below(2));
    if (below(100) == 0)
        excite(avr_io_getirq(avr, AVR_IOCTL_ADC_GETIRQ, below(6)), below(5000));
}

int main(int argc, char **argv) {
    if (argc < 8)
        return 1;
    /* simavr prints what it does; standard output is for the states alone. */
    FILE *told = fdopen(dup(1), "w");
    if (!told || dup2(2, 1) < 0)
        return 4;
    elf_firmware_t firmware;
    memset(&firmware, 0, sizeof firmware);
    if (elf_read_firmware(argv[1], &firmware))
        return 2;
    snprintf(firmware.mmcu, sizeof firmware.mmcu, "%s", argv[2]);
    firmware.frequency = 16000000;
    avr_t *avr = avr_make_mcu_by_name(argv[2]);
    if (!avr || avr_init(avr))
        return 3;
    avr_load_firmware(avr, &firmware);
    avr->log = 0;
    avr->sleep = no_sleep;
    unsigned main_at = atoi(argv[3]) * 2, bytes = atoi(argv[4]), most = atoi(argv[5]);
    seed = strtoull(argv[6], 0, 10) * 2654435761u + 88172645463325252ull;
    unsigned ram = strcmp(argv[2], "atmega16") ? 0x100 : 0x60;
    unsigned status = AVR_DATA_TO_IO(ram == 0x100 ? 0xc0 : 0x2b);
    read_status = avr->io[status].r.c;
    avr->io[status].r.c = status_by_data_sheet;
    correct_flags(avr, ram != 0x100);
    correct_words(avr, ram != 0x100);
    unsigned begun = 0;
    for (unsigned done = 0, turns = 0; done < most && turns < 50 * most; turns++) {
        int state = avr_run(avr);
        /* One instruction is executed after SEI and RETI before an interrupt; simavr executes two. */
        if (avr->interrupt_state == -1 && avr_has_pending_interrupts(avr))
            avr->interrupt_state = 1;
        if (state == cpu_Done || state == cpu_Crashed)
            break;
        begun |= avr->pc == main_at;
        if (!begun)
            continue;
        uint8_t sreg = 0;
        for (int i = 0; i < 8; i++)
            sreg |= (avr->sreg[i] != 0) << i;
        putc(avr->pc / 2 & 0xff, told);
        putc(avr->pc / 2 >> 8, told);
        putc(avr->state == cpu_Sleeping, told);
        fwrite(avr->data, 1, 32, told);
        putc(sreg, told);
        putc(avr->data[0x5d], told);
        putc(avr->data[0x5e], told);
        fwrite(avr->data + ram, 1, bytes, told);
        for (int i = 8; i < argc; i++)
            putc(avr->data[atoi(argv[i])], told);
        uint32_t sum = 2166136261u;
        static uint8_t content[1024];
        avr_eeprom_desc_t eeprom = {.ee = content, .offset = 0, .size = atoi(argv[7])};
        if (eeprom.size > sizeof content)
            return 5;
        if (eeprom.size)
            avr_ioctl(avr, AVR_IOCTL_EEPROM_GET, &eeprom);
        for (unsigned i = 0; i < eeprom.size; i++)
            sum = (sum ^ content[i]) * 16777619u;
        fwrite(&sum, 1, 4, told);
        done++;
        disturb(avr);
    }
    fflush(told);
    return 0;
}
