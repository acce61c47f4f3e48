/* See everypath.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "everypath.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>

struct offer {
	pid_t by; /* 0: free */
	int taken;
	int line, column;
	int values[EP_FIELDS];
};

struct channel {
	int capacity, fields;
	char types[EP_FIELDS + 1];
	int count, head;
	int messages[256][EP_FIELDS];
	struct offer offers[EP_OFFERS];
};

struct shared {
	int ready;
	pthread_mutex_t lock;
	pthread_cond_t change;
	int running;
	int numbers[EP_PROCESSES + 1];
	int channels;
	struct channel channel[EP_CHANNELS + 1];
};

void *ep_variables;
int ep_tracing;

static struct shared *shared;
static const char *segment;
static int creator, depth, dirty, timed_out, trace = -1, number, count;
static const char *own_name;
static int arguments[EP_FIELDS];

void ep_complain(const char *what)
{
	int error = errno;
	fprintf(stderr, "%s: %s%s%s\n", own_name ? own_name : "everypath", what, error ? ": " : "", error ? strerror(error) : "");
}

static void end(const char *what)
{
	ep_complain(what);
	exit(EXIT_FAILURE);
}

static void write_trace(const char *text)
{
	/* Each line is one write, so that lines of several processes do not mix. */
	if (trace >= 0 && write(trace, text, strlen(text)) < 0)
		ep_complain("the trace cannot be written");
}

static void lock(void)
{
	if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD)
		/* A process died in the middle of a step. Its changes so far are kept. */
		pthread_mutex_consistent(&shared->lock);
}

static void open_segment(size_t size, void (*start)(void))
{
	size_t whole = sizeof(struct shared) + size;
	char name[64];
	int fd;
	segment = getenv("EP_SEGMENT");
	if (!segment) {
		snprintf(name, sizeof name, "/everypath.%ld", (long) getpid());
		setenv("EP_SEGMENT", name, 1);
		segment = getenv("EP_SEGMENT");
	}
	fd = shm_open(segment, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	creator = fd >= 0;
	if (fd < 0)
		fd = shm_open(segment, O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		end("shared memory is not available");
	if (creator && ftruncate(fd, (off_t) whole) < 0)
		end("shared memory of this size is not available");
	if (!creator) {
		struct stat found = { 0 };
		while (fstat(fd, &found) == 0 && (size_t) found.st_size < whole)
			usleep(1000);
	}
	shared = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (shared == MAP_FAILED)
		end("shared memory is not available");
	ep_variables = (char *) shared + sizeof(struct shared);
	if (creator) {
		pthread_mutexattr_t mutex;
		pthread_condattr_t condition;
		pthread_mutexattr_init(&mutex);
		pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
		pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST);
		pthread_mutex_init(&shared->lock, &mutex);
		pthread_condattr_init(&condition);
		pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
		pthread_condattr_setclock(&condition, CLOCK_MONOTONIC);
		pthread_cond_init(&shared->change, &condition);
		start();
		__atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
	} else {
		while (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE))
			usleep(1000);
	}
}

void ep_attach(const char *name, int argc, char **argv, int shares, size_t size, void (*start)(void))
{
	const char *path = getenv("EP_TRACE"), *given = getenv("EP_NUMBER");
	own_name = name;
	count = 0;
	for (int i = 1; i < argc && count < EP_FIELDS; i++)
		arguments[count++] = atoi(argv[i]);
	if (path) {
		trace = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
		ep_tracing = trace >= 0;
		if (trace < 0)
			ep_complain("the trace cannot be opened");
	}
	/* The system removes children that end; no wait is needed. */
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (shares)
		open_segment(size, start);
	number = given ? atoi(given) : 0;
	if (!given && ep_tracing) {
		char line[128];
		snprintf(line, sizeof line, "start %ld %s\n", (long) getpid(), name);
		write_trace(line);
	}
	if (shared) {
		lock();
		if (!given)
			shared->running++;
		pthread_mutex_unlock(&shared->lock);
	}
}

int ep_finish(void)
{
	while (wait(NULL) > 0 || errno == EINTR)
		;
	if (shared) {
		lock();
		shared->running--;
		shared->numbers[number] = 0;
		pthread_cond_broadcast(&shared->change);
		pthread_mutex_unlock(&shared->lock);
		if (creator)
			shm_unlink(segment);
	}
	return EXIT_SUCCESS;
}

int ep_pid(void)
{
	return number;
}

int ep_processes(void)
{
	return shared ? shared->running : 1;
}

int ep_argument(int which)
{
	return which < count ? arguments[which] : 0;
}

static int start_process(const char *name, int given, const int *values, const char *word)
{
	char program[256], numbers[EP_FIELDS][16], line[256], own[16];
	char *argv[EP_FIELDS + 2];
	int gate[2], child_number = 1;
	pid_t child;
	snprintf(program, sizeof program, "./%s", name);
	if (access(program, X_OK) < 0) {
		ep_complain(program);
		return 0;
	}
	if (shared) {
		ep_begin();
		while (child_number < EP_PROCESSES && shared->numbers[child_number])
			child_number++;
		if (child_number == EP_PROCESSES) {
			ep_end();
			return 0;
		}
		shared->numbers[child_number] = 1;
		shared->running++;
	}
	argv[0] = program;
	for (int i = 0; i < given; i++) {
		snprintf(numbers[i], sizeof numbers[i], "%d", values[i]);
		argv[i + 1] = numbers[i];
	}
	argv[given + 1] = NULL;
	snprintf(own, sizeof own, "%d", child_number);
	if (pipe2(gate, O_CLOEXEC) < 0) {
		ep_complain("no process can be started");
		child = -1;
	} else {
		child = fork();
	}
	if (child == 0) {
		char go;
		/* The parent writes its line first. */
		close(gate[1]);
		if (read(gate[0], &go, 1) < 0)
			ep_complain(program);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		setenv("EP_NUMBER", own, 1);
		execv(program, argv);
		ep_complain(program);
		_exit(127);
	}
	if (child > 0) {
		snprintf(line, sizeof line, "%s %ld %ld %s\n", word, (long) getpid(), (long) child, name);
		write_trace(line);
		close(gate[0]);
		close(gate[1]);
	}
	if (shared) {
		if (child < 0) {
			shared->numbers[child_number] = 0;
			shared->running--;
		}
		ep_changed();
		ep_end();
	}
	return child > 0 ? child_number : 0;
}

int ep_run(const char *name, int given, const int *values)
{
	return start_process(name, given, values, "run");
}

int ep_active(const char *name, int given, const int *values)
{
	return start_process(name, given, values, "active");
}

void ep_begin(void)
{
	if (shared && depth++ == 0)
		lock();
}

void ep_end(void)
{
	timed_out = 0;
	ep_again();
}

void ep_again(void)
{
	if (shared && --depth == 0) {
		if (dirty)
			pthread_cond_broadcast(&shared->change);
		dirty = 0;
		pthread_mutex_unlock(&shared->lock);
	}
}

void ep_changed(void)
{
	dirty = 1;
}

static void sleep_until(const struct timespec *limit)
{
	int held = depth, result;
	if (!shared) {
		/* The program shares nothing, so nothing can change. */
		if (limit)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, limit, NULL);
		else
			pause();
		timed_out = limit != NULL;
		return;
	}
	if (dirty)
		pthread_cond_broadcast(&shared->change);
	dirty = 0;
	/* The lock is released completely, however deeply steps are nested. */
	depth = 0;
	result = limit ? pthread_cond_timedwait(&shared->change, &shared->lock, limit) : pthread_cond_wait(&shared->change, &shared->lock);
	if (result == EOWNERDEAD)
		pthread_mutex_consistent(&shared->lock);
	depth = held;
	timed_out = result == ETIMEDOUT;
}

void ep_wait(void)
{
	sleep_until(NULL);
}

void ep_wait_timed(void)
{
	const char *given = getenv("EP_TIMEOUT");
	long milliseconds = given ? atol(given) : 200;
	struct timespec limit;
	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_sec += milliseconds / 1000;
	limit.tv_nsec += milliseconds % 1000 * 1000000;
	if (limit.tv_nsec >= 1000000000) {
		limit.tv_sec++;
		limit.tv_nsec -= 1000000000;
	}
	sleep_until(&limit);
}

int ep_timed_out(void)
{
	return timed_out;
}

static void step_of(pid_t process, int line, int column)
{
	char text[96];
	snprintf(text, sizeof text, "step %ld %d %d\n", (long) process, line, column);
	write_trace(text);
}

void ep_step(int line, int column)
{
	step_of(getpid(), line, column);
}

void ep_values(int given, ...)
{
	char text[1024];
	int length = snprintf(text, sizeof text, "value %ld", (long) getpid());
	va_list list;
	va_start(list, given);
	for (int i = 0; i < given && length < (int) sizeof text - 100; i++) {
		const char *name = va_arg(list, const char *);
		long value = va_arg(list, long);
		length += snprintf(text + length, sizeof text - (size_t) length - 1, " %.60s %ld", name, value);
	}
	va_end(list);
	text[length] = '\n';
	text[length + 1] = 0;
	write_trace(text);
}

/* --- Channels */

int ep_channel(int capacity, const char *types)
{
	struct channel *new;
	int made = 0;
	if (!shared)
		end("a channel in a program that shares nothing");
	ep_begin();
	if (shared->channels < EP_CHANNELS) {
		made = ++shared->channels;
		new = &shared->channel[made];
		memset(new, 0, sizeof *new);
		new->capacity = capacity;
		new->fields = (int) strlen(types);
		snprintf(new->types, sizeof new->types, "%s", types);
	} else {
		ep_complain("too many channels");
	}
	ep_end();
	return made;
}

static struct channel *find(int which)
{
	if (which < 1 || which > shared->channels) {
		errno = 0;
		end("an operation on a channel that does not exist");
	}
	return &shared->channel[which];
}

static int cut(char type, int value)
{
	switch (type) {
	case '1':
		return value & 1;
	case 'b':
		return value & 0xff;
	case 's':
		return (short) value;
	default:
		return value;
	}
}

static int *message(struct channel *c, int position)
{
	return c->messages[(c->head + position) % (c->capacity ? c->capacity : 1)];
}

static int larger(const struct channel *c, const int *a, const int *b)
{
	for (int i = 0; i < c->fields; i++)
		if (a[i] != b[i])
			return a[i] > b[i];
	return 0;
}

int ep_try_send(int which, int given, const int *values, int sorted, int line, int column)
{
	struct channel *c = find(which);
	int place, new[EP_FIELDS];
	for (int i = 0; i < c->fields; i++)
		new[i] = i < given ? cut(c->types[i], values[i]) : 0;
	if (c->capacity == 0) {
		struct offer *own = NULL, *empty = NULL;
		for (int i = 0; i < EP_OFFERS; i++) {
			if (c->offers[i].by == getpid() && c->offers[i].line == line && c->offers[i].column == column)
				own = &c->offers[i];
			else if (!c->offers[i].by && !empty)
				empty = &c->offers[i];
		}
		if (own) {
			if (!own->taken)
				return 0;
			own->by = 0;
			return 1;
		}
		if (empty) {
			empty->taken = 0;
			empty->line = line;
			empty->column = column;
			memcpy(empty->values, new, sizeof new);
			empty->by = getpid();
			ep_changed();
		}
		return 0;
	}
	if (c->count == c->capacity)
		return 0;
	if (line && ep_tracing)
		ep_step(line, column);
	place = c->count;
	while (sorted && place > 0 && larger(c, message(c, place - 1), new)) {
		memcpy(message(c, place), message(c, place - 1), sizeof new);
		place--;
	}
	memcpy(message(c, place), new, sizeof new);
	c->count++;
	ep_changed();
	return 1;
}

void ep_withdraw(int which)
{
	struct channel *c = find(which);
	for (int i = 0; i < EP_OFFERS; i++)
		if (c->offers[i].by == getpid())
			c->offers[i].by = 0;
}

static int fits(const struct channel *c, const int *values, int given, const struct ep_field *fields)
{
	for (int i = 0; i < given && i < c->fields; i++)
		if (fields[i].match && fields[i].value != values[i])
			return 0;
	return 1;
}

/* When one offer of a process is taken, its other offers are withdrawn. */
static void withdraw_all(pid_t by)
{
	for (int k = 1; k <= shared->channels; k++)
		for (int i = 0; i < EP_OFFERS; i++)
			if (shared->channel[k].offers[i].by == by)
				shared->channel[k].offers[i].by = 0;
}

int ep_try_receive(int which, int given, struct ep_field *fields, int any, int keep)
{
	struct channel *c = find(which);
	int *found = NULL, position;
	pid_t process;
	if (c->capacity == 0) {
		for (int i = 0; i < EP_OFFERS; i++) {
			struct offer *offer = &c->offers[i];
			if (!offer->by || offer->taken || offer->by == getpid() || !fits(c, offer->values, given, fields))
				continue;
			for (int k = 0; k < given && k < c->fields; k++)
				fields[k].value = offer->values[k];
			process = offer->by;
			withdraw_all(process);
			offer->by = process;
			offer->taken = 1;
			/* Both halves are one step of the model: the sender's line comes first. */
			if (ep_tracing)
				step_of(offer->by, offer->line, offer->column);
			ep_changed();
			return 1;
		}
		return 0;
	}
	for (position = 0; position < (any ? c->count : c->count > 0); position++) {
		found = message(c, position);
		if (fits(c, found, given, fields))
			break;
		found = NULL;
	}
	if (!found)
		return 0;
	for (int k = 0; k < given && k < c->fields; k++)
		fields[k].value = found[k];
	if (!keep) {
		for (int i = position; i + 1 < c->count; i++)
			memcpy(message(c, i), message(c, i + 1), sizeof c->messages[0]);
		c->count--;
		ep_changed();
	}
	return 1;
}

int ep_poll(int which, int given, const struct ep_field *fields, int any)
{
	struct channel *c = find(which);
	for (int i = 0; i < (any ? c->count : c->count > 0); i++)
		if (fits(c, message(c, i), given, fields))
			return 1;
	return 0;
}

int ep_length(int which)
{
	return find(which)->count;
}

int ep_capacity(int which)
{
	return find(which)->capacity;
}
