/* Explores everything that firmware can do, instruction by instruction, for the comparison of
 * `cargo xtask avr --programs`. simavr executes the instructions; the devices are those below, and
 * every choice of the environment is tried: values that are read from inputs, interrupts before each
 * instruction, and resets by the watchdog while it is on.
 *
 * Standard input is a plan, one word and its values on each line:
 *
 *   elf FILE          device NAME       main ADDRESS      fail ADDRESS      end ADDRESS
 *   handlers VECTOR...                  vectors with a handler
 *   input ADDRESS MASK                  bits of an input that the program looks at
 *   flags 1                             flags are raised by steps of their own
 *   shadow 1                            one instruction is executed after SEI and after RETI
 *   observe ADDRESS...                  bytes whose values are told in all states
 *   mark ADDRESS ADDRESS...             bytes whose values are told while the first one is 1
 *   scalars ADDRESS SIZE...             variables of several bytes, to look for divided accesses
 *   limit STATES
 *
 * Standard output: `states`, then lines `violation`, `seen`, `moved` (the observed values before and
 * after a step that changes them) and `marked`. */
#include "explore.h"
#include <simavr/sim_avr.h>
#include <simavr/sim_core.h>
#include <simavr/sim_elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RAMEND 0x8ff
#define DEEPEST 4

static const struct device *dev;
static avr_t *avr;
static uint8_t *data;
static int handlers[32], input[0x100], explicit_flags, shadows, ramend;
static unsigned main_at, fail_at, data_end, limit = 1000000;

/* The state of the processor, besides what simavr keeps. */
static uint8_t shadow, asleep, depth, written[RAMEND + 1], eeprom[4], temp;
static uint16_t settled;

/* For each level of nesting, an access to a variable of several bytes that may not be complete. */
static struct record {
    uint16_t scalar;
    uint8_t writes, seen, age, divided;
} records[DEEPEST];
static uint16_t scalar_of[RAMEND + 1];
static int looks_for_races;

/* --- Choices of the environment within one instruction. --- */

static int choices[64], counts[64], chosen, known;

static int choose(int count) {
    if (count <= 1)
        return 0;
    if (chosen == 64)
        exit(5);
    if (chosen == known) {
        counts[known] = count;
        choices[known++] = 0;
    }
    return choices[chosen++];
}

/* The next combination of choices; 0 if all have been tried. */
static int next_choices(void) {
    while (known > 0 && choices[known - 1] + 1 == counts[known - 1])
        known--;
    chosen = 0;
    if (known == 0)
        return 0;
    choices[known - 1]++;
    return 1;
}

static uint8_t choose_bits(uint8_t mask) {
    uint8_t value = 0;
    for (int bit = 0; bit < 8; bit++)
        if (mask & 1 << bit && choose(2))
            value |= 1 << bit;
    return value;
}

/* --- What was found. --- */

static const char *violations[16];

static void violation(const char *what) {
    for (int i = 0; i < 16; i++) {
        if (violations[i] && !strcmp(violations[i], what))
            return;
        if (!violations[i]) {
            violations[i] = what;
            return;
        }
    }
}

/* --- Devices. --- */

static int among(const int *list, int count, int addr) {
    for (int i = 0; i < count && list[i]; i++)
        if (list[i] == addr)
            return 1;
    return 0;
}

static int raised(const struct source *s) {
    return data[s->flag] >> s->flag_bit & 1;
}

/* Whether the device of a source can raise its flag, or its level, from outside now. */
static int works(const struct source *s) {
    if (s->need && !(data[s->need] & s->need_bits))
        return 0;
    if (!s->port)
        return 1;
    uint8_t inputs = ~data[s->port - 1];
    if (s->how & CHANGE)
        return (inputs & data[s->select]) != 0;
    return inputs >> s->pin & 1;
}

static int mode(const struct source *s) {
    return s->how & MODE ? data[s->select] >> s->select_bit & 3 : -1;
}

/* The effect of a change of an output register on flags. */
static void moved(int port, uint8_t before) {
    uint8_t changed = (before ^ data[port]) & data[port - 1];
    for (const struct source *s = dev->sources; s->vector; s++) {
        if (s->port != port)
            continue;
        int high = data[port] >> s->pin & 1, edge = changed >> s->pin & 1, raises = 0;
        if (s->how & CHANGE)
            raises = (changed & data[s->select]) != 0;
        else if (s->how & RISING)
            raises = edge && high == (data[s->select] >> s->select_bit & 1);
        else
            raises = edge && (mode(s) == 1 || mode(s) == 2 + high);
        if (raises)
            data[s->flag] |= 1 << s->flag_bit;
    }
}

/* Reads a register of a device. Of an input only the bits that the program looks at are chosen. */
static uint8_t io_read(int addr, uint8_t bits) {
    if (among(dev->pins, 5, addr)) {
        uint8_t out = data[addr + 1], value = choose_bits(input[addr] & bits & ~out);
        return (value & ~out) | (data[addr + 2] & out);
    }
    if (among(dev->counters, 5, addr))
        return choose_bits(input[addr] & bits);
    /* A result has ten bits, on the left or on the right of two bytes. */
    int left = data[dev->adjust] >> 5 & 1;
    if (addr == dev->converter - 1)
        return choose_bits(input[addr] & bits & (left ? 0xff : 3));
    if (addr == dev->converter - 2)
        return choose_bits(input[addr] & bits & (left ? 0xc0 : 0xff));
    if (addr == dev->wide[0] || addr == dev->wide[1]) {
        temp = addr == dev->wide[0] ? choose_bits(input[addr + 1]) : data[addr + 1];
        return addr == dev->wide[0] ? choose_bits(input[addr] & bits) : data[addr];
    }
    if (addr == dev->wide[0] + 1 || addr == dev->wide[1] + 1)
        return temp;
    if (addr == dev->serial) {
        data[dev->status] &= ~0x80;
        return choose_bits(input[addr] & bits);
    }
    if (addr == dev->status)
        return data[addr] | choose_bits(input[addr] & 0x1c & bits);
    return data[addr];
}

static void io_write(int addr, uint8_t value, uint8_t bits) {
    uint8_t before = data[addr];
    value = (value & bits) | (before & ~bits);
    if (among(dev->pins, 5, addr)) {
        uint8_t port = data[addr + 2];
        if (dev->toggles) {
            data[addr + 2] ^= value & bits;
            moved(addr + 2, port);
        }
    } else if (among(dev->flags, 6, addr)) {
        data[addr] = before & ~(value & bits);
    } else if (among(dev->wide, 8, addr)) {
        data[addr] = value;
        data[addr + 1] = temp;
    } else if (among(dev->wide, 8, addr - 1)) {
        temp = value;
    } else if (among(dev->counters, 5, addr)) {
        return;
    } else if (addr == dev->serial) {
        data[dev->status] &= ~0x60;
    } else if (addr == dev->status) {
        data[addr] = ((before & 0xfc) & ~(value & 0x40)) | (value & 3);
    } else if (addr == dev->converter) {
        data[addr] = (value & 0xaf) | (before & 0x10 & ~value) | ((before | value) & 0x40);
    } else if (addr == dev->eeprom) {
        /* 1 reads, 2 writes if 4 was written before. */
        if (value & 1)
            data[addr + 1] = eeprom[data[addr + 2] & 3];
        if (value & 2 && before & 4) {
            eeprom[data[addr + 2] & 3] = data[addr + 1];
            data[addr] = value & ~5;
        } else {
            data[addr] = (value & ~3) | (before & 2);
        }
    } else {
        data[addr] = value;
        for (const struct source *s = dev->sources; s->vector; s++)
            if (s->port == addr) {
                moved(addr, before);
                break;
            }
    }
}

static uint8_t on_read(avr_t *of, avr_io_addr_t addr, void *parameter) {
    (void)of, (void)parameter;
    return io_read(addr, 0xff);
}

static void on_write(avr_t *of, avr_io_addr_t addr, uint8_t value, void *parameter) {
    (void)of, (void)parameter;
    io_write(addr, value, 0xff);
}

/* --- The processor. --- */

static unsigned word_at(unsigned at) {
    return avr->flash[at] | avr->flash[at + 1] << 8;
}

static unsigned pointer(int r) {
    return data[r] | data[r + 1] << 8;
}

static unsigned sp(void) {
    return data[0x5d] | data[0x5e] << 8;
}

static int is_long(unsigned word) {
    return (word & 0xfc0f) == 0x9000 || (word & 0xfe0c) == 0x940c;
}

/* The address that a load or a store accesses, or -1. */
static int address(unsigned word, unsigned at, int *writes) {
    *writes = word >> 9 & 1;
    if ((word & 0xd000) == 0x8000)
        return (pointer(word & 8 ? 28 : 30) + ((word & 7) | (word >> 7 & 0x18) | (word >> 8 & 0x20))) & 0xffff;
    if ((word & 0xfc00) != 0x9000)
        return -1;
    switch (word & 0xf) {
    case 0: return word_at(at + 2);
    case 1: return pointer(30);
    case 2: return (pointer(30) - 1) & 0xffff;
    case 9: return pointer(28);
    case 10: return (pointer(28) - 1) & 0xffff;
    case 12: case 13: return pointer(26);
    case 14: return (pointer(26) - 1) & 0xffff;
    }
    return -1;
}

/* Looks for accesses to variables of several bytes that an interrupt divides. `strictly` says that
 * the two accesses are neighbours in the code. */
static void watch(unsigned addr, int writes) {
    uint16_t scalar = addr <= RAMEND ? scalar_of[addr] : 0;
    if (!scalar)
        return;
    for (int i = 0; i < depth && i < DEEPEST; i++)
        if (records[i].scalar == scalar && (writes || records[i].writes))
            records[i].divided = 1;
    if (depth >= DEEPEST)
        return;
    struct record *own = &records[depth];
    uint8_t bit = 1 << (addr - scalar);
    if (own->scalar == scalar && own->writes == writes && !(own->seen & bit)) {
        if (own->divided)
            violation(own->age <= 1 ? "neighbours divided" : "divided");
        own->seen |= bit;
    } else {
        memset(own, 0, sizeof *own);
        own->scalar = scalar;
        own->writes = writes;
        own->seen = bit;
    }
    own->divided = 0;
    own->age = 0;
}

static void grow_old(void) {
    struct record *own = &records[depth < DEEPEST ? depth : DEEPEST - 1];
    if (own->scalar && ++own->age > 14)
        memset(own, 0, sizeof *own);
}

/* Pushes a byte. 0 if there is no room. */
static int push(uint8_t byte, int is_set) {
    unsigned at = sp();
    if (at < data_end || at > (unsigned)ramend) {
        violation("stack overflow");
        return 0;
    }
    data[at] = byte;
    written[at] = is_set;
    at--;
    data[0x5d] = at;
    data[0x5e] = at >> 8;
    return 1;
}

/* After a change of the stack pointer the bytes below it are empty. */
static void settle(void) {
    unsigned now = sp();
    for (unsigned at = settled + 1; at <= now && at <= (unsigned)ramend; at++)
        data[at] = written[at] = 0;
    settled = now;
}

/* Executes an instruction. 0 if that is the end. */
static int execute(void) {
    unsigned at = avr->pc, word = word_at(at);
    int was_enabled = avr->sreg[S_I], writes;
    shadow = 0;
    if (at == fail_at) {
        violation("assertion violated");
        return 0;
    }
    if (looks_for_races)
        grow_old();
    int accessed = address(word, at, &writes);
    if (accessed >= 0) {
        if (accessed > ramend || (accessed >= (int)data_end && accessed <= (int)sp())) {
            violation("access outside memory");
            return 0;
        }
        if (accessed >= (int)data_end) {
            if (writes)
                written[accessed] = 1;
            else if (!written[accessed])
                violation("uninitialised read");
        } else if (looks_for_races) {
            watch(accessed, writes);
        }
    }
    unsigned skip = at + 4 + 2 * is_long(word_at(at + 2)), wanted = word >> 9 & 1;
    uint8_t bit = 1 << (word & 7);
    int io = 0x20 + (word >> 3 & 0x1f), d = word >> 4 & 0x1f, r = (word & 0xf) | (word >> 5 & 0x10);
    if (word == 0x9518) {
        unsigned from = sp();
        if (from + 2 > (unsigned)ramend)
            return 0;
        avr->pc = (data[from + 1] << 8 | data[from + 2]) * 2;
        data[0x5d] = from + 2;
        data[0x5e] = (from + 2) >> 8;
        avr->sreg[S_I] = 1;
        if (depth < DEEPEST)
            memset(&records[depth], 0, sizeof *records);
        depth -= depth > 0;
        shadow = 1;
    } else if (word == 0x9588) {
        avr->pc += 2;
        asleep = data[dev->sleep] >> dev->sleep_bit & 1;
    } else if (word == 0x95a8 || word == 0x9598) {
        avr->pc += 2;
    } else if ((word & 0xfd00) == 0x9800) {
        /* These instructions access one bit of flags and pins, and the whole of other registers. */
        int alone = among(dev->flags, 6, io) || among(dev->pins, 5, io);
        if (!alone)
            io_write(io, word & 0x200 ? data[io] | bit : data[io] & ~bit, 0xff);
        else if (word & 0x200)
            io_write(io, bit, bit);
        avr->pc += 2;
    } else if ((word & 0xfd00) == 0x9900) {
        unsigned set = (io_read(io, bit) & bit) != 0;
        avr->pc = set == wanted ? skip : at + 2;
    } else if ((word & 0xfc08) == 0xfc00) {
        unsigned set = (data[d] & bit) != 0;
        avr->pc = set == wanted ? skip : at + 2;
    } else if ((word & 0xfc00) == 0x1000) {
        avr->pc = data[d] == data[r] ? skip : at + 2;
    } else {
        int calls = (word & 0xf000) == 0xd000 || (word & 0xfe0e) == 0x940e || word == 0x9509;
        int pushes = (word & 0xfe0f) == 0x920f;
        unsigned from = sp();
        if ((calls || pushes) && (from < data_end + 1 || from > (unsigned)ramend)) {
            violation("stack overflow");
            return 0;
        }
        if (((word & 0xfe0f) == 0x900f && from >= (unsigned)ramend) || (word == 0x9508 && from + 2 > (unsigned)ramend)) {
            violation("wild jump");
            return 0;
        }
        avr->run_cycle_count = 0;
        avr->state = cpu_Running;
        avr->pc = avr_run_one(avr);
        if (calls)
            written[from] = written[from - 1] = word != 0xd000;
        if (pushes)
            written[from] = 1;
    }
    int stores_high = (word & 0xf800) == 0xb800 && ((word & 0xf) | (word >> 5 & 0x30)) == 0x3e;
    if (!stores_high && accessed != 0x5e)
        settle();
    int stores_status = ((word & 0xf800) == 0xb800 && ((word & 0xf) | (word >> 5 & 0x30)) == 0x3f) || (writes && accessed == 0x5f);
    if (word == 0x9478 || stores_status)
        shadow = avr->sreg[S_I] && !was_enabled;
    shadow = shadow && shadows;
    if (avr->pc >= avr->flashend) {
        violation("wild jump");
        return 0;
    }
    if (sp() + 1 < data_end) {
        violation("stack overflow");
        return 0;
    }
    return 1;
}

/* Whether an interrupt can be taken now. */
static int pending(const struct source *s) {
    if (!(data[s->mask] >> s->mask_bit & 1))
        return 0;
    /* The EEPROM is ready while it does not write. */
    if (s->how & READY)
        return !(data[dev->eeprom] & 2);
    int level = mode(s) == 0 && !raised(s);
    if (level) {
        int output = data[s->port - 1] >> s->pin & 1;
        return output ? !(data[s->port] >> s->pin & 1) : 1;
    }
    if (s->how & LEVEL)
        return works(s) && (raised(s) || !explicit_flags);
    return raised(s) || (works(s) && !explicit_flags);
}

/* Whether an interrupt that the program can see goes before others. */
static int seen(const struct source *s) {
    return !(s->how & READY) && data[s->mask] >> s->mask_bit & 1 && raised(s) && (!(s->how & LEVEL) || works(s));
}

static int take(const struct source *s) {
    if (!handlers[s->vector]) {
        violation("interrupt without a handler");
        return 0;
    }
    if (s->how & LEVEL)
        data[s->flag] |= 1 << s->flag_bit;
    else if (!(s->how & READY))
        data[s->flag] &= ~(1 << s->flag_bit);
    if (s->flag == dev->converter && !(data[s->flag] & 0x20))
        data[s->flag] &= ~0x40;
    unsigned back = avr->pc / 2;
    if (!push(back, 1) || !push(back >> 8, 1))
        return 0;
    settle();
    avr->sreg[S_I] = 0;
    avr->pc = s->vector * 4;
    asleep = 0;
    depth++;
    if (depth < DEEPEST)
        memset(&records[depth], 0, sizeof *records);
    return 1;
}

/* Whether the watchdog is on and does not interrupt instead. */
static int guards(void) {
    return (data[dev->watchdog] & 0x48) == 8;
}

/* --- States. --- */

static uint8_t packed[2 * (RAMEND + 1)];

static unsigned pack(void) {
    unsigned n = 0;
    uint8_t sreg = 0;
    for (int i = 0; i < 8; i++)
        sreg |= (avr->sreg[i] != 0) << i;
    packed[n++] = avr->pc;
    packed[n++] = avr->pc >> 8;
    packed[n++] = sreg;
    packed[n++] = shadow | asleep << 1 | depth << 2;
    packed[n++] = settled;
    packed[n++] = settled >> 8;
    packed[n++] = temp;
    memcpy(packed + n, eeprom, 4);
    n += 4;
    if (looks_for_races) {
        memcpy(packed + n, records, sizeof records);
        n += sizeof records;
    }
    memcpy(packed + n, data, data_end);
    n += data_end;
    unsigned from = settled + 1u < data_end ? data_end : settled + 1u;
    for (unsigned at = from; at <= (unsigned)ramend; at++) {
        packed[n++] = data[at];
        packed[n++] = written[at];
    }
    return n;
}

static void unpack(const uint8_t *state) {
    unsigned n = 0;
    avr->pc = state[n] | state[n + 1] << 8;
    n += 2;
    for (int i = 0; i < 8; i++)
        avr->sreg[i] = state[n] >> i & 1;
    n++;
    shadow = state[n] & 1;
    asleep = state[n] >> 1 & 1;
    depth = state[n++] >> 2;
    settled = state[n] | state[n + 1] << 8;
    n += 2;
    temp = state[n++];
    memcpy(eeprom, state + n, 4);
    n += 4;
    if (looks_for_races) {
        memcpy(records, state + n, sizeof records);
        n += sizeof records;
    }
    memcpy(data, state + n, data_end);
    n += data_end;
    unsigned from = settled + 1u < data_end ? data_end : settled + 1u;
    memset(data + data_end, 0, from - data_end);
    memset(written + data_end, 0, from - data_end);
    for (unsigned at = from; at <= (unsigned)ramend; at++) {
        data[at] = state[n++];
        written[at] = state[n++];
    }
}

static uint64_t hash(const uint8_t *bytes, unsigned count) {
    uint64_t h = 0x9e3779b97f4a7c15ull ^ count;
    for (; count >= 8; count -= 8, bytes += 8) {
        uint64_t w;
        memcpy(&w, bytes, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdull;
        h ^= h >> 29;
    }
    uint64_t w = 0;
    memcpy(&w, bytes, count);
    h = (h ^ w) * 0xc4ceb9fe1a85ec53ull;
    h ^= h >> 32;
    h *= 0xff51afd7ed558ccdull;
    return h ^ h >> 31;
}

/* A set of hashes of states. */
static uint64_t *set;
static uint64_t capacity, count;

static int add(uint64_t h) {
    h += h == 0;
    if (2 * count >= capacity) {
        uint64_t *before = set, old = capacity;
        capacity = old ? 2 * old : 1 << 16;
        set = calloc(capacity, sizeof *set);
        if (!set)
            exit(6);
        count = 0;
        for (uint64_t i = 0; i < old; i++)
            if (before[i])
                add(before[i]);
        free(before);
    }
    uint64_t i = h & (capacity - 1);
    while (set[i] && set[i] != h)
        i = (i + 1) & (capacity - 1);
    if (set[i])
        return 0;
    set[i] = h;
    count++;
    return 1;
}

/* States that have not been explored, in blocks. */
struct block {
    struct block *next;
    unsigned used, read;
    uint8_t bytes[1 << 20];
};
static struct block *first, *last;

static void enqueue(const uint8_t *bytes, unsigned size) {
    if (!last || last->used + size + 4 > sizeof last->bytes) {
        struct block *more = malloc(sizeof *more);
        if (!more)
            exit(6);
        more->next = 0;
        more->used = more->read = 0;
        if (last)
            last->next = more;
        else
            first = more;
        last = more;
    }
    memcpy(last->bytes + last->used, &size, 4);
    memcpy(last->bytes + last->used + 4, bytes, size);
    last->used += size + 4;
}

/* Takes a state; 0 if there is none. */
static unsigned dequeue(uint8_t *into) {
    while (first && first->read == first->used) {
        struct block *done = first;
        first = first->next;
        if (!first)
            last = 0;
        free(done);
    }
    if (!first)
        return 0;
    unsigned size;
    memcpy(&size, first->bytes + first->read, 4);
    memcpy(into, first->bytes + first->read + 4, size);
    first->read += size + 4;
    return size;
}

/* --- What is told of states. --- */

#define WIDEST 250

struct told {
    int addresses[WIDEST], count;
    uint8_t *values;
    unsigned entries, room;
};
static struct told observed, marked, moves;

/* The observed values in the state that is being explored. */
static uint8_t old_values[WIDEST];

static void values(const struct told *told, uint8_t *into) {
    for (int i = 0; i < told->count; i++)
        into[i] = told->addresses[i] == 0x5f ? avr->sreg[S_I] : data[told->addresses[i]];
}

#define STRIDE (WIDEST + 1)

static void tell_values(struct told *told, const uint8_t *now) {
    uint64_t h = hash(now, told->count);
    unsigned i = told->room ? h & (told->room - 1) : 0;
    while (told->room && told->values[i * STRIDE]) {
        if (!memcmp(told->values + i * STRIDE + 1, now, told->count))
            return;
        i = (i + 1) & (told->room - 1);
    }
    if (2 * told->entries >= told->room) {
        uint8_t *before = told->values;
        unsigned old = told->room;
        told->room = old ? 2 * old : 256;
        told->values = calloc(told->room, STRIDE);
        if (!told->values)
            exit(6);
        for (unsigned j = 0; j < old; j++)
            if (before[j * STRIDE]) {
                unsigned k = hash(before + j * STRIDE + 1, told->count) & (told->room - 1);
                while (told->values[k * STRIDE])
                    k = (k + 1) & (told->room - 1);
                memcpy(told->values + k * STRIDE, before + j * STRIDE, STRIDE);
            }
        free(before);
        i = h & (told->room - 1);
        while (told->values[i * STRIDE])
            i = (i + 1) & (told->room - 1);
    }
    told->values[i * STRIDE] = 1;
    memcpy(told->values + i * STRIDE + 1, now, told->count);
    told->entries++;
}

static void tell(struct told *told) {
    uint8_t now[WIDEST];
    values(told, now);
    tell_values(told, now);
}

static void visit(void) {
    unsigned size = pack();
    if (observed.count && 2 * observed.count <= WIDEST) {
        uint8_t both[WIDEST];
        memcpy(both, old_values, observed.count);
        values(&observed, both + observed.count);
        moves.count = 2 * observed.count;
        if (memcmp(both, both + observed.count, observed.count))
            tell_values(&moves, both);
    }
    if (!add(hash(packed, size)))
        return;
    enqueue(packed, size);
    if (observed.count)
        tell(&observed);
    if (marked.count && data[marked.addresses[0]] == 1)
        tell(&marked);
}

static void print(FILE *out, const char *name, const struct told *told) {
    for (unsigned i = 0; i < told->room; i++) {
        if (!told->values[i * STRIDE])
            continue;
        fprintf(out, "%s", name);
        for (int j = 0; j < told->count; j++)
            fprintf(out, " %u", told->values[i * STRIDE + 1 + j]);
        fputc('\n', out);
    }
}

/* --- The plan. --- */

static char elf[4096], device_name[64];

static void addresses(char *rest, struct told *told) {
    for (char *word = strtok(rest, " \n"); word && told->count < WIDEST; word = strtok(0, " \n"))
        told->addresses[told->count++] = strtol(word, 0, 0);
}

static void read_plan(void) {
    char line[8192];
    while (fgets(line, sizeof line, stdin)) {
        char *key = line, *rest = strchr(line, ' ');
        if (!rest)
            continue;
        *rest++ = 0;
        rest[strcspn(rest, "\n")] = 0;
        if (!strcmp(key, "elf"))
            snprintf(elf, sizeof elf, "%s", rest);
        else if (!strcmp(key, "device"))
            snprintf(device_name, sizeof device_name, "%s", rest);
        else if (!strcmp(key, "main"))
            main_at = strtol(rest, 0, 0);
        else if (!strcmp(key, "fail"))
            fail_at = strtol(rest, 0, 0);
        else if (!strcmp(key, "end"))
            data_end = strtol(rest, 0, 0);
        else if (!strcmp(key, "flags"))
            explicit_flags = atoi(rest);
        else if (!strcmp(key, "shadow"))
            shadows = atoi(rest);
        else if (!strcmp(key, "limit"))
            limit = strtol(rest, 0, 0);
        else if (!strcmp(key, "observe"))
            addresses(rest, &observed);
        else if (!strcmp(key, "mark"))
            addresses(rest, &marked);
        else if (!strcmp(key, "handlers")) {
            for (char *word = strtok(rest, " "); word; word = strtok(0, " "))
                handlers[atoi(word) & 31] = 1;
        } else if (!strcmp(key, "input")) {
            char *mask;
            int addr = strtol(rest, &mask, 0) & 0xff;
            input[addr] |= strtol(mask, 0, 0);
        } else if (!strcmp(key, "scalars")) {
            looks_for_races = 1;
            for (char *word = strtok(rest, " "); word; word = strtok(0, " ")) {
                char *size = strtok(0, " ");
                int addr = strtol(word, 0, 0);
                for (int i = 0; size && i < atoi(size) && addr + i <= RAMEND; i++)
                    scalar_of[addr + i] = addr;
            }
        }
    }
}

int main(void) {
    FILE *out = fdopen(dup(1), "w");
    if (!out || dup2(2, 1) < 0)
        return 4;
    read_plan();
    elf_firmware_t firmware;
    memset(&firmware, 0, sizeof firmware);
    if (elf_read_firmware(elf, &firmware))
        return 2;
    snprintf(firmware.mmcu, sizeof firmware.mmcu, "%s", device_name);
    firmware.frequency = 16000000;
    avr = avr_make_mcu_by_name(device_name);
    if (!avr || avr_init(avr))
        return 3;
    avr_load_firmware(avr, &firmware);
    avr->log = 0;
    data = avr->data;
    ramend = avr->ramend;
    dev = strcmp(device_name, "atmega16") ? &new_device : &old_device;
    /* simavr's own devices are taken off. */
    for (int i = 0; i < MAX_IOs; i++)
        memset(&avr->io[i], 0, sizeof avr->io[i]);
    memset(data + 0x20, 0, dev->ram - 0x20);
    for (int addr = 0x20; addr < dev->ram; addr++) {
        if (addr == 0x5d || addr == 0x5e || addr == 0x5f)
            continue;
        avr->io[AVR_DATA_TO_IO(addr)].r.c = on_read;
        avr->io[AVR_DATA_TO_IO(addr)].w.c = on_write;
    }
    data[dev->status] = 0x20;
    data[dev->reason] = 1;
    memset(eeprom, 0xff, sizeof eeprom);
    data[0x5d] = ramend;
    data[0x5e] = ramend >> 8;
    settled = ramend;
    /* The start-up code has one path. */
    int asks = looks_for_races;
    looks_for_races = 0;
    for (int turns = 0; avr->pc != main_at; turns++)
        if (turns > 100000 || !execute())
            return 7;
    looks_for_races = asks;
    /* What its loops leave in registers is not part of the program. */
    memset(data, 0, 28);
    data[30] = data[31] = 0;
    for (int flag = 0; flag < S_I; flag++)
        avr->sreg[flag] = 0;
    values(&observed, old_values);
    visit();
    static uint8_t state[sizeof packed], begin[sizeof packed];
    memcpy(begin, packed, sizeof packed);
    int complete = 1;
    while (dequeue(state)) {
        if (count > limit) {
            complete = 0;
            break;
        }
        int goes_on = 0;
        unpack(state);
        values(&observed, old_values);
        if (!asleep) {
            known = chosen = 0;
            do {
                unpack(state);
                goes_on = 1;
                if (execute())
                    visit();
            } while (next_choices());
        }
        unpack(state);
        int taken = avr->sreg[S_I] && !shadow, goes_first = 0;
        for (const struct source *s = dev->sources; s->vector && taken; s++) {
            unpack(state);
            if (!goes_first && pending(s)) {
                goes_on = 1;
                if (take(s))
                    visit();
            }
            unpack(state);
            goes_first |= seen(s);
        }
        if (explicit_flags)
            for (const struct source *s = dev->sources; s->vector; s++) {
                unpack(state);
                if (s->how & READY || raised(s) || !works(s) || mode(s) == 0)
                    continue;
                data[s->flag] |= 1 << s->flag_bit;
                if (s->flag == dev->converter && !(data[s->flag] & 0x20))
                    data[s->flag] &= ~0x40;
                visit();
                goes_on = 1;
            }
        unpack(state);
        if (data[dev->eeprom] & 2) {
            data[dev->eeprom] &= ~2;
            visit();
            goes_on = 1;
        }
        unpack(state);
        if (guards()) {
            uint8_t kept[sizeof eeprom], reason = (data[dev->reason] & 0x1f) | 8;
            memcpy(kept, eeprom, sizeof kept);
            unpack(begin);
            memcpy(eeprom, kept, sizeof kept);
            data[dev->reason] = reason;
            data[dev->watchdog] = dev->after;
            visit();
            goes_on = 1;
        }
        if (!goes_on)
            violation("invalid end state");
    }
    fprintf(out, "states %llu %s\n", (unsigned long long)count, complete ? "complete" : "cut");
    for (int i = 0; i < 16 && violations[i]; i++)
        fprintf(out, "violation %s\n", violations[i]);
    print(out, "seen", &observed);
    print(out, "moved", &moves);
    print(out, "marked", &marked);
    return fflush(out) != 0;
}
