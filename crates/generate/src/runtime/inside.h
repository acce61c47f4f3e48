/* Between the parts of the run time; pieces of C in a model do not need it. */
#ifndef INSIDE_H
#define INSIDE_H

#include "everypath.h"
#include <stdint.h>
#include <sys/types.h>

/* What is asked of the shared state, always under its lock. */
enum request_kind {
	MAKE_CHANNEL = 1,
	SEND,
	WITHDRAW,
	RECEIVE,
	POLL,
	LENGTH,
	CAPACITY,
	NEW_PROCESS,
	END_PROCESS,
	COUNT_PROCESSES,
	/* Whether all processes are known: nobody else will come. */
	WHOLE
};

/* The answer if a channel does not exist, or if its queue does not work, which was said already. */
enum { NO_CHANNEL = -1, BROKEN_QUEUE = -2 };

/* Why everybody stops. */
enum { STOP_FAILURE = 1, STOP_END = 2 };

/* A question and its answer. Every member has 32 bits, so that it can be sent as it is. */
struct request {
	int32_t kind, channel, count, sorted, any, keep, line, column;
	/* Who asks. In an answer to a receive, whose offer was taken, or 0. */
	int32_t who;
	int32_t result, changed;
	/* Of a new channel, `match` has the letters of its name. */
	struct {
		int32_t match, value;
	} fields[EP_FIELDS];
	/* The types of a new channel. */
	int32_t types[EP_FIELDS];
};

/* --- channels.c: the shared state without its lock */

struct state;
size_t state_size(void);
void state_answer(struct state *state, struct request *request);
/* What somebody has offered and who is gone is no offer. */
void state_forget(struct state *state, int32_t who);
/* Message queues of the system are removed. */
void state_close(struct state *state);
/* How many processes have not ended, and whether nobody else will come. */
int state_alive(const struct state *state);
int state_whole(const struct state *state);

/* --- memory.c, broker.c or loop.c: where it is, and its lock */

void back_open(size_t size, void (*start)(void));
void back_lock(void);
void back_unlock(int changed);
/* Gives up the lock, sleeps until something has changed, and takes the lock again. True if
 * `milliseconds` have passed before; -1 is no limit. If all processes wait without a limit, all of
 * them stop: that is a failure, unless each of them is where the model may end. */
int back_wait(int changed, long milliseconds, int ending);
/* Under the lock: everybody stops at the next step, and why. */
void back_stop(int how);
int back_stopped(void);
/* What a process does if a piece of C ends it. */
void back_at_exit(void (*left)(void));
void back_answer(struct request *request);
void back_close(void);
/* Starts a process of this number, whose line of the trace begins with `word`; what it is called in
 * traces, or -1. */
long back_start(const char *word, const char *name, int count, const int *arguments, int number);
/* Waits for the processes that were started; true if one of them has failed. */
int back_join(void);

/* --- everypath.c */

/* What a process of the model knows about itself. */
struct own {
	const char *name;
	long id; /* in traces */
	int number, count, depth, changed, timed_out;
	int arguments[EP_FIELDS];
};
extern struct own *own;

void fail(const char *what) __attribute__((noreturn));
/* A process that was started has ended without saying so. */
void gone(int number);
/* Whether it has been decided that the program ends. */
int known_to_stop(void);
void write_trace(const char *text);
/* The line of a process that was started, before it does anything. */
void announce(const char *word, long child, const char *name);
void open_trace(void);
long patience(void);

#endif
