/* Checks a program as the command line does, with limits, and stops it when it has seen enough states.
 *
 *     check FILE STATES
 *
 * prints the path to a violation, if there is one, and the numbers. The exit code is that of the
 * command `everypath check`.
 */
#include <everypath.h>

#include <stdio.h>
#include <stdlib.h>

static unsigned long long most;

static bool watch(void *context, const EverypathProgress *progress) {
    (void)context;
    fprintf(stderr, "%llu states after %.1f s\n", (unsigned long long)progress->states, progress->seconds);
    return progress->states < most;
}

static bool show(void *context, const EverypathStep *step) {
    (void)context;
    puts(step->label);
    return true;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s FILE STATES\n", argv[0]);
        return 2;
    }
    most = strtoull(argv[2], NULL, 10);
    static uint8_t text[1 << 20];
    FILE *file = fopen(argv[1], "rb");
    if (file == NULL) {
        perror(argv[1]);
        return 2;
    }
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);

    EverypathProgram *program;
    if (everypath_load(argv[1], text, length, &program) != EVERYPATH_STATUS_OK) {
        fprintf(stderr, "%s\n", everypath_error());
        return 2;
    }
    EverypathOptions options;
    if (everypath_usual_options(&options) != EVERYPATH_STATUS_OK) {
        fprintf(stderr, "%s\n", everypath_error());
        return 2;
    }
    options.memory_bytes = 1u << 30;
    options.time_ms = 60000;
    options.threads = 2;
    options.watcher = watch;
    EverypathResult result;
    EverypathStatus status = everypath_check(program, &options, show, NULL, &result);
    everypath_free(program);
    if (status != EVERYPATH_STATUS_OK) {
        fprintf(stderr, "%s\n", everypath_error());
        return 2;
    }
    if (result.verdict != EVERYPATH_VERDICT_HOLDS) {
        printf("%s\n", everypath_error());
    }
    printf("%llu states, %llu transitions\n", (unsigned long long)result.states, (unsigned long long)result.transitions);
    return (int)result.verdict;
}
