#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

enum { EP_ROUNDS = 2000, EP_PATHS = 10000, EP_CHOICES = 200, EP_SECONDS = 5 };

struct ep_tally {
	long inputs;
};

/* The value of a variable before a piece. */
#define old(name) old_##name

static int ep_choices[EP_CHOICES], ep_limits[EP_CHOICES], ep_used, ep_depth;

static inline void ep_first_path(void)
{
	ep_used = ep_depth = 0;
}

/* Chooses as on the path that is tried now. */
static inline int ep_choose(int among)
{
	if (among < 1 || ep_depth == EP_CHOICES)
		return 0;
	if (ep_depth == ep_used) {
		ep_choices[ep_used] = 0;
		ep_limits[ep_used++] = among;
	}
	return ep_choices[ep_depth++];
}

static inline int ep_next_path(void)
{
	while (ep_used > 0 && ep_choices[ep_used - 1] + 1 >= ep_limits[ep_used - 1])
		ep_used--;
	if (ep_used == 0)
		return 0;
	ep_choices[ep_used - 1]++;
	ep_depth = 0;
	return 1;
}

/* A value of a type: small ones and those at the ends of the range are more likely. */
static inline int ep_pick(char type)
{
	static unsigned long random = 88172645463325252ul;
	static const int ends[] = { 0, 1, 2, 127, 128, 255, 256, -1, -128, 32767, -32768, 2147483647, -2147483647 - 1 };
	int value;
	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	switch (random >> 60 & 3) {
	case 0:
		value = (int) (random >> 20 & 7);
		break;
	case 1:
		value = ends[(random >> 20) % (sizeof ends / sizeof ends[0])];
		break;
	default:
		value = (int) (random >> 20);
	}
	switch (type) {
	case '1':
		return value & 1;
	case 'b':
		return value & 255;
	case 's':
		return (short) value;
	case 'm':
		return (value & 15) + 1;
	default:
		return value;
	}
}

static inline int ep_fail(const char *format, ...)
{
	va_list values;
	va_start(values, format);
	vfprintf(stdout, format, values);
	va_end(values);
	fflush(stdout);
	return 1;
}

/* Tries a piece in a process of its own, so that one that crashes or does not end is found and the
 * others are tried. */
static inline int ep_test(const char *place, int (*piece)(struct ep_tally *))
{
	int status = 0;
	pid_t child;
	printf("%s: ", place);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct ep_tally tally = { 0 };
		int failed;
		alarm(EP_SECONDS);
		failed = piece(&tally);
		if (!failed && tally.inputs == 0)
			failed = ep_fail("no values were found that satisfy what is required\n");
		if (!failed)
			printf("%ld inputs, right\n", tally.inputs);
		fflush(stdout);
		_exit(failed);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0) {
		perror(place);
		return 1;
	}
	if (WIFSIGNALED(status)) {
		printf(WTERMSIG(status) == SIGALRM ? "the piece does not end\n" : "the piece crashes: %s\n", strsignal(WTERMSIG(status)));
		return 1;
	}
	return WEXITSTATUS(status) != 0;
}

