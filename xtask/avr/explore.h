/* The devices of `explore.c`, by their data sheets: sources of interrupts and registers. */
#ifndef EXPLORE_H
#define EXPLORE_H

enum { EDGE = 1, LEVEL = 2, MODE = 4, RISING = 8, CHANGE = 16, READY = 32 };

/* A source of interrupts: its vector, the register and the bit of its mask and of its flag, the
 * register and the bits without which its device does not work, and how pins raise it: the output
 * register, the number of the pin, and the register and the bit that select the event. */
struct source {
    int vector, mask, mask_bit, flag, flag_bit, need, need_bits, how, port, pin, select, select_bit;
};

static const struct source new_sources[] = {
    {1, 0x3d, 0, 0x3c, 0, 0, 0, EDGE | MODE, 0x2b, 2, 0x69, 0},
    {2, 0x3d, 1, 0x3c, 1, 0, 0, EDGE | MODE, 0x2b, 3, 0x69, 2},
    {3, 0x68, 0, 0x3b, 0, 0, 0, EDGE | CHANGE, 0x25, 0, 0x6b, 0},
    {4, 0x68, 1, 0x3b, 1, 0, 0, EDGE | CHANGE, 0x28, 0, 0x6c, 0},
    {5, 0x68, 2, 0x3b, 2, 0, 0, EDGE | CHANGE, 0x2b, 0, 0x6d, 0},
    {7, 0x70, 1, 0x37, 1, 0xb1, 7, EDGE, 0, 0, 0, 0},
    {8, 0x70, 2, 0x37, 2, 0xb1, 7, EDGE, 0, 0, 0, 0},
    {9, 0x70, 0, 0x37, 0, 0xb1, 7, EDGE, 0, 0, 0, 0},
    {10, 0x6f, 5, 0x36, 5, 0x81, 7, EDGE, 0, 0, 0, 0},
    {11, 0x6f, 1, 0x36, 1, 0x81, 7, EDGE, 0, 0, 0, 0},
    {12, 0x6f, 2, 0x36, 2, 0x81, 7, EDGE, 0, 0, 0, 0},
    {13, 0x6f, 0, 0x36, 0, 0x81, 7, EDGE, 0, 0, 0, 0},
    {14, 0x6e, 1, 0x35, 1, 0x45, 7, EDGE, 0, 0, 0, 0},
    {15, 0x6e, 2, 0x35, 2, 0x45, 7, EDGE, 0, 0, 0, 0},
    {16, 0x6e, 0, 0x35, 0, 0x45, 7, EDGE, 0, 0, 0, 0},
    {18, 0xc1, 7, 0xc0, 7, 0xc1, 0x10, LEVEL, 0, 0, 0, 0},
    {19, 0xc1, 5, 0xc0, 5, 0, 0, LEVEL, 0, 0, 0, 0},
    {21, 0x7a, 3, 0x7a, 4, 0x7a, 0x40, EDGE, 0, 0, 0, 0},
    {22, 0x3f, 3, 0, 0, 0, 0, READY, 0, 0, 0, 0},
    {0},
};

static const struct source old_sources[] = {
    {1, 0x5b, 6, 0x5a, 6, 0, 0, EDGE | MODE, 0x32, 2, 0x55, 0},
    {2, 0x5b, 7, 0x5a, 7, 0, 0, EDGE | MODE, 0x32, 3, 0x55, 2},
    {3, 0x59, 7, 0x58, 7, 0x45, 7, EDGE, 0, 0, 0, 0},
    {4, 0x59, 6, 0x58, 6, 0x45, 7, EDGE, 0, 0, 0, 0},
    {5, 0x59, 5, 0x58, 5, 0x4e, 7, EDGE, 0, 0, 0, 0},
    {6, 0x59, 4, 0x58, 4, 0x4e, 7, EDGE, 0, 0, 0, 0},
    {7, 0x59, 3, 0x58, 3, 0x4e, 7, EDGE, 0, 0, 0, 0},
    {8, 0x59, 2, 0x58, 2, 0x4e, 7, EDGE, 0, 0, 0, 0},
    {9, 0x59, 0, 0x58, 0, 0x53, 7, EDGE, 0, 0, 0, 0},
    {11, 0x2a, 7, 0x2b, 7, 0x2a, 0x10, LEVEL, 0, 0, 0, 0},
    {12, 0x2a, 5, 0x2b, 5, 0, 0, LEVEL, 0, 0, 0, 0},
    {14, 0x26, 3, 0x26, 4, 0x26, 0x40, EDGE, 0, 0, 0, 0},
    {15, 0x3c, 3, 0, 0, 0, 0, READY, 0, 0, 0, 0},
    {18, 0x5b, 5, 0x5a, 5, 0, 0, EDGE | RISING, 0x38, 2, 0x54, 6},
    {19, 0x59, 1, 0x58, 1, 0x53, 7, EDGE, 0, 0, 0, 0},
    {0},
};

/* Where registers are: those of flags, of pins, of counters, of the high bytes of timers; what the
 * register of the watchdog is after it has reset the device. */
struct device {
    int ram, sleep, sleep_bit, status, serial, converter, adjust, eeprom, toggles, watchdog, after, reason;
    const struct source *sources;
    int flags[6], pins[5], counters[5], wide[8];
};

static const struct device new_device = {
    0x100, 0x53, 0, 0xc0, 0xc6, 0x7a, 0x7c, 0x3f, 1, 0x60, 8, 0x54, new_sources,
    {0x35, 0x36, 0x37, 0x3b, 0x3c}, {0x23, 0x26, 0x29}, {0x46, 0xb2}, {0x84, 0x86, 0x88, 0x8a},
};

static const struct device old_device = {
    0x60, 0x55, 6, 0x2b, 0x2c, 0x26, 0x27, 0x3c, 0, 0x41, 0, 0x54, old_sources,
    {0x58, 0x5a}, {0x30, 0x33, 0x36, 0x39}, {0x44, 0x52}, {0x4c, 0x46, 0x4a, 0x48},
};

#endif
