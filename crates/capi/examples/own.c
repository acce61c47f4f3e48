/* A system and a store of one's own: two jugs of three and five litres, and a table of visited
 * states that is one bit for each state. The search looks for a state without steps, which is one
 * with four litres in the large jug, and finds a shortest path to it.
 */
#include <everypath.h>

#include <stdio.h>
#include <string.h>

enum { SMALL = 3, LARGE = 5, GOAL = 4 };

static void emit(EverypathSteps *steps, int small, int large) {
    const uint8_t state[2] = {(uint8_t)small, (uint8_t)large};
    everypath_emit(steps, state, sizeof state);
}

static void initial(void *context, EverypathSteps *steps) {
    (void)context;
    emit(steps, 0, 0);
}

static void successors(void *context, const uint8_t *state, size_t length, EverypathSteps *steps) {
    (void)context;
    (void)length;
    int small = state[0], large = state[1];
    if (large == GOAL) {
        return;
    }
    emit(steps, SMALL, large);
    emit(steps, small, LARGE);
    emit(steps, 0, large);
    emit(steps, small, 0);
    int to_large = small < LARGE - large ? small : LARGE - large;
    emit(steps, small - to_large, large + to_large);
    int to_small = large < SMALL - small ? large : SMALL - small;
    emit(steps, small + to_small, large - to_small);
}

struct table {
    uint8_t known[SMALL + 1][LARGE + 1];
    int count;
};

static int32_t insert(void *context, const uint8_t *state, size_t length) {
    (void)length;
    struct table *table = context;
    uint8_t *known = &table->known[state[0]][state[1]];
    int32_t is_new = *known == 0;
    *known = 1;
    table->count += is_new;
    return is_new;
}

static bool show(void *context, const EverypathStep *step) {
    (void)context;
    printf("%d %d\n", step->state[0], step->state[1]);
    return true;
}

int main(void) {
    struct table table;
    memset(&table, 0, sizeof table);
    const EverypathSystem system = {initial, successors, NULL, NULL};
    const EverypathStore store = {insert, &table};
    EverypathOptions options = {0};
    options.time_ms = 60000;
    EverypathResult result;
    if (everypath_explore(&system, &store, &options, show, NULL, &result) != EVERYPATH_STATUS_OK) {
        fprintf(stderr, "%s\n", everypath_error());
        return 2;
    }
    printf("%llu states, %d in the table\n", (unsigned long long)result.states, table.count);
    return result.verdict == EVERYPATH_VERDICT_VIOLATED ? 1 : 0;
}
