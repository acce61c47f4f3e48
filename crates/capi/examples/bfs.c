/* Explores a program breadth-first through Everypath's C library, with a table of visited states of its own.
 *
 *     bfs FILE
 *
 * prints the number of states and transitions, and the first deadlock or fault it meets. Exit code 0 if there is none, 1 if there is
 * one, 2 if something else is wrong.
 */
#include <everypath.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A state of ours: a copy of the bytes, in the order in which they were found. The list is the queue, too. */
struct state {
    uint8_t *bytes;
    size_t length;
    uint64_t hash;
};

struct search {
    struct state *states;
    size_t count, capacity;
    size_t *table; /* position plus one; 0 is empty */
    size_t slots;
    unsigned long transitions;
    unsigned long leaving; /* steps of the state under expansion */
    int faulty;
};

static void *grow(void *old, size_t bytes) {
    void *memory = realloc(old, bytes);
    if (memory == NULL) {
        fputs("out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

/* FNV-1a: short, and good enough for an example. */
static uint64_t hash(const uint8_t *bytes, size_t length) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) {
        h = (h ^ bytes[i]) * 1099511628211u;
    }
    return h;
}

static void place(struct search *search, size_t number) {
    size_t at = search->states[number].hash & (search->slots - 1);
    while (search->table[at] != 0) {
        at = (at + 1) & (search->slots - 1);
    }
    search->table[at] = number + 1;
}

static void insert(struct search *search, const uint8_t *bytes, size_t length) {
    if (2 * (search->count + 1) > search->slots) {
        search->slots = search->slots == 0 ? 1024 : 2 * search->slots;
        search->table = grow(search->table, search->slots * sizeof *search->table);
        memset(search->table, 0, search->slots * sizeof *search->table);
        for (size_t i = 0; i < search->count; i++) {
            place(search, i);
        }
    }
    uint64_t h = hash(bytes, length);
    for (size_t at = h & (search->slots - 1); search->table[at] != 0; at = (at + 1) & (search->slots - 1)) {
        const struct state *seen = &search->states[search->table[at] - 1];
        if (seen->hash == h && seen->length == length && memcmp(seen->bytes, bytes, length) == 0) {
            return;
        }
    }
    if (search->count == search->capacity) {
        search->capacity = search->capacity == 0 ? 1024 : 2 * search->capacity;
        search->states = grow(search->states, search->capacity * sizeof *search->states);
    }
    struct state *state = &search->states[search->count];
    state->bytes = memcpy(grow(NULL, length == 0 ? 1 : length), bytes, length);
    state->length = length;
    state->hash = h;
    place(search, search->count++);
}

static bool visit(void *context, const EverypathStep *step) {
    struct search *search = context;
    search->leaving++;
    if (step->fault != NULL) {
        printf("fault: %s\n  in %s\n", step->fault, step->label);
        search->faulty = 1;
        return false;
    }
    if (step->label[0] != '\0') {
        search->transitions++;
    }
    insert(search, step->state, step->length);
    return true;
}

static void must(EverypathStatus status) {
    if (status != EVERYPATH_STATUS_OK) {
        fprintf(stderr, "%s\n", everypath_error());
        exit(2);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    FILE *file = fopen(argv[1], "rb");
    if (file == NULL) {
        perror(argv[1]);
        return 2;
    }
    uint8_t *text = NULL;
    size_t length = 0, read;
    do {
        text = grow(text, length + 65536);
        read = fread(text + length, 1, 65536, file);
        length += read;
    } while (read > 0);
    fclose(file);

    EverypathProgram *program;
    must(everypath_load(argv[1], text, length, &program));
    free(text);

    struct search search = {0};
    must(everypath_initial(program, visit, &search));
    int deadlock = 0;
    for (size_t next = 0; next < search.count && !search.faulty && !deadlock; next++) {
        /* The list may move while it grows; the bytes of a state stay. */
        const uint8_t *bytes = search.states[next].bytes;
        size_t size = search.states[next].length;
        search.leaving = 0;
        must(everypath_successors(program, bytes, size, visit, &search));
        if (search.leaving == 0) {
            bool valid_end;
            must(everypath_is_valid_end(program, bytes, size, &valid_end));
            deadlock = !valid_end;
        }
    }
    if (deadlock) {
        puts("deadlock");
    }
    printf("%zu states, %lu transitions\n", search.count, search.transitions);

    for (size_t i = 0; i < search.count; i++) {
        free(search.states[i].bytes);
    }
    free(search.states);
    free(search.table);
    everypath_free(program);
    return search.faulty || deadlock ? 1 : 0;
}
