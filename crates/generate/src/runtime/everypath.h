/* The run time of a generated program: processes, shared variables, channels, timers, traces.
 *
 * What the model shares is in one place with one lock. A step is taken under the lock, so it is as
 * indivisible as in the model; a process that cannot go on sleeps until something has changed.
 * Where that place is depends on what the program is linked with: a segment of shared memory
 * (memory.c), a process that the others reach by sockets (broker.c), or the one process that all
 * processes of the model live in (loop.c).
 */
#ifndef EVERYPATH_H
#define EVERYPATH_H

/* What a model declares and does not use is the model's own matter. */
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-label"
#pragma GCC diagnostic ignored "-Wunused-function"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EP_FIELDS = 32, EP_CHANNELS = 255, EP_PROCESSES = 255, EP_OFFERS = 64 };

/* What carries the messages of a channel. */
enum ep_carrier { EP_MEMORY, EP_SYSV, EP_POSIX };

/* How a field of a message is received. */
struct ep_field {
	int match; /* compare with value, or store into it */
	int value;
};

/* A process type of a program whose processes live in one process of the system. */
struct ep_type {
	const char *name;
	int (*body)(void);
};

/* The variables that the model shares, and what they start with. */
extern void *ep_variables;
/* The name of the text that the program was generated from. */
extern const char ep_source[];

/* Begins a process: `size` bytes of shared variables, which `start` sets in the first process. A
 * program that shares nothing passes shares == 0. */
void ep_attach(const char *name, int argc, char **argv, int shares, size_t size, void (*start)(void));
/* Runs all processes in this one, until they have ended or wait for each other for ever. */
int ep_loop(const struct ep_type *types, int count, size_t size, void (*start)(void));
/* The process that starts the others becomes a process of the model, where the model has one. */
void ep_enter(void);
/* All processes that exist from the beginning have been started. */
void ep_started(void);
/* Waits for the processes that this one has started, and ends it. The exit status is that of the
 * program: a failure if one of these processes has failed. */
int ep_finish(void);
/* Ends the present process from anywhere in it. */
void ep_leave(void);
/* The number of a process among those that run, and how many there are. */
int ep_pid(void);
int ep_processes(void);
/* An argument of the process. */
int ep_argument(int number);

/* Starts a process; its number, or 0 if it could not be started. */
int ep_run(const char *name, int count, const int *arguments);
/* The same for a process that exists from the beginning. */
int ep_active(const char *name, int count, const int *arguments);

/* A step begins and ends; they may be nested. */
void ep_begin(void);
void ep_end(void);
/* Ends an attempt that took no step, so that a time limit that is over stays so. */
void ep_again(void);
/* A shared variable was changed. */
void ep_changed(void);
/* Sleeps until something has changed. With a time limit, `timeout` becomes true when it is over. */
void ep_wait(void);
void ep_wait_timed(void);
/* The same where the model may end. */
void ep_wait_end(void);
int ep_timed_out(void);
/* Lets others go on, where they live in this process of the system. */
void ep_turn(void);
/* Waits until a descriptor is ready for these events of poll, or for so many milliseconds; -1 is for
 * ever. Pieces of C use it so that other processes go on meanwhile. What poll returns. */
int ep_ready(int descriptor, short events, int milliseconds);

/* A step was taken: written to the trace, if there is one. */
extern int ep_tracing;
void ep_step(int line, int column);
/* So many variables have values that the model may choose: name and value (a long) of each. */
void ep_values(int count, ...);
#define EP_STEP(line, column) \
	do { \
		if (ep_tracing) \
			ep_step(line, column); \
	} while (0)

/* Channels. `types` has one letter for a field: 1 bit, b byte, s short, i int. */
void ep_name(const char *name);
int ep_channel(int capacity, const char *types, enum ep_carrier carrier);
int ep_try_send(int channel, int count, const int *values, int sorted, int line, int column);
/* A rendezvous that was offered and not taken is withdrawn. */
void ep_withdraw(int channel);
int ep_try_receive(int channel, int count, struct ep_field *fields, int any, int keep);
int ep_poll(int channel, int count, const struct ep_field *fields, int any);
int ep_length(int channel);
int ep_capacity(int channel);

/* The value a variable of few bits keeps. */
#define EP_BITS(value, bits) ((value) & ((1u << (bits)) - 1u))

/* Something is wrong: one line on standard error. */
void ep_complain(const char *what);

/* The model has a violation here: the program stops, with the position. */
void ep_fault(const char *what, int line, int column) __attribute__((noreturn));

/* An index into an array of so many elements. */
static inline int ep_index(int index, size_t count, int line, int column)
{
	if (index < 0 || (size_t) index >= count)
		ep_fault("an index outside its array", line, column);
	return index;
}
#define EP_COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline int ep_divide(int a, int b, int line, int column)
{
	if (b == 0)
		ep_fault("a division by zero", line, column);
	/* The only quotient that does not fit. */
	return b == -1 ? (int) (0u - (unsigned) a) : a / b;
}

static inline int ep_remainder(int a, int b, int line, int column)
{
	if (b == 0)
		ep_fault("a division by zero", line, column);
	return b == -1 ? 0 : a % b;
}

/* The first place behind a shared variable of this type; each has a place that fits every type. */
#define EP_AFTER(at, type) ((at) + (int) ((sizeof(type) + 15) / 16 * 16))

#endif
