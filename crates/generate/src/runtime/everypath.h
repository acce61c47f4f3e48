/* The run time of a generated program: processes, shared variables, channels, timers, traces.
 *
 * Every process of the model is a process of the operating system. The variables and channels of
 * the model are in one segment of shared memory with one lock. A step is taken under the lock, so
 * it is as indivisible as in the model. A blocked process sleeps until something has changed.
 */
#ifndef EVERYPATH_H
#define EVERYPATH_H

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EP_FIELDS = 32, EP_CHANNELS = 255, EP_PROCESSES = 255, EP_OFFERS = 64 };

/* How a field of a message is received. */
struct ep_field {
	int match; /* compare with value, or store into it */
	int value;
};

/* The variables that the model shares. */
extern void *ep_variables;

/* Begins a process: `size` bytes of shared variables, which `start` sets in the first process. A
 * program that shares nothing passes shares == 0. */
void ep_attach(const char *name, int argc, char **argv, int shares, size_t size, void (*start)(void));
/* Waits for the processes that this one has started, and ends it. */
int ep_finish(void);
/* The number of this process, and the number of processes that run. */
int ep_pid(void);
int ep_processes(void);
/* An argument of the process. */
int ep_argument(int number);

/* Starts a process and returns its number, or 0 if it could not be started. */
int ep_run(const char *name, int count, const int *arguments);
/* The same for a process that exists from the beginning. */
int ep_active(const char *name, int count, const int *arguments);

/* A step begins and ends; they may be nested. */
void ep_begin(void);
void ep_end(void);
/* Ends an attempt that took no step; a time limit that has passed remains passed. */
void ep_again(void);
/* A shared variable was changed. */
void ep_changed(void);
/* Sleeps until something has changed. With a time limit, `timeout` becomes true when it has passed. */
void ep_wait(void);
void ep_wait_timed(void);
int ep_timed_out(void);

/* A step was taken: written to the trace, if there is one. */
extern int ep_tracing;
void ep_step(int line, int column);
/* Writes the values that the model may choose: `count` pairs of a name and a value (a long). */
void ep_values(int count, ...);
#define EP_STEP(line, column) \
	do { \
		if (ep_tracing) \
			ep_step(line, column); \
	} while (0)

/* Channels. `types` has one letter for each field: 1 bit, b byte, s short, i int. */
int ep_channel(int capacity, const char *types);
int ep_try_send(int channel, int count, const int *values, int sorted, int line, int column);
/* A rendezvous that was offered and not taken is withdrawn. */
void ep_withdraw(int channel);
int ep_try_receive(int channel, int count, struct ep_field *fields, int any, int keep);
int ep_poll(int channel, int count, const struct ep_field *fields, int any);
int ep_length(int channel);
int ep_capacity(int channel);

/* The value that a variable of so many bits keeps. */
#define EP_BITS(value, bits) ((value) & ((1u << (bits)) - 1u))

/* Writes one line about an error to standard error. */
void ep_complain(const char *what);

#endif
