/* The state that processes share, apart from variables: channels and the numbers of processes.
 *
 * A channel keeps its messages here, or in a message queue of the system. Who calls holds the lock.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "inside.h"

#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>

struct offer {
	int32_t by; /* 0: free */
	int taken;
	int line, column;
	int values[EP_FIELDS];
};

struct channel {
	int capacity, fields;
	char types[EP_FIELDS];
	int count, head;
	enum ep_carrier carrier;
	int queue;
	char name[48];
	/* Its name in the text. */
	char label[EP_FIELDS + 1];
	int messages[256][EP_FIELDS];
	struct offer offers[EP_OFFERS];
};

struct state {
	/* Processes have numbers as in the model: one that has ended keeps its number until those after
	 * it have ended too. */
	enum { UNUSED, ALIVE, ENDED } numbers[EP_PROCESSES];
	int top, whole;
	int channels;
	struct channel channel[EP_CHANNELS + 1];
};

size_t state_size(void)
{
	return sizeof(struct state);
}

/* --- Message queues of the system */

struct letter {
	long kind;
	int values[EP_FIELDS];
};

static size_t size_of(const struct channel *c)
{
	return (size_t) (c->fields ? c->fields : 1) * sizeof(int);
}

/* Descriptors of POSIX queues belong to a process, so each opens what it uses. */
static mqd_t descriptor(const struct channel *c)
{
	static mqd_t open_queues[EP_CHANNELS + 1];
	static int is_open[EP_CHANNELS + 1];
	if (!is_open[c->queue]) {
		open_queues[c->queue] = mq_open(c->name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		is_open[c->queue] = open_queues[c->queue] != (mqd_t) -1;
	}
	return open_queues[c->queue];
}

/* What is wrong with the queue of a channel: 0. */
static int wrong(const struct channel *c, const char *what)
{
	char text[160];
	snprintf(text, sizeof text, "channel `%s`: %s", c->label, what);
	ep_complain(text);
	return 0;
}

static int make_queue(struct channel *c, int number)
{
	if (c->carrier == EP_SYSV) {
		struct msqid_ds found;
		size_t wanted = (size_t) c->capacity * size_of(c);
		c->queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
		if (c->queue < 0 || msgctl(c->queue, IPC_STAT, &found) < 0)
			return wrong(c, "no message queue of System V");
		if (found.msg_qbytes < wanted) {
			found.msg_qbytes = wanted;
			if (msgctl(c->queue, IPC_SET, &found) < 0)
				return wrong(c, "the channel is larger than a message queue of System V may be (/proc/sys/kernel/msgmnb)");
		}
	} else if (c->carrier == EP_POSIX) {
		struct mq_attr attributes = { .mq_maxmsg = c->capacity, .mq_msgsize = (long) size_of(c) };
		mqd_t made;
		c->queue = number;
		snprintf(c->name, sizeof c->name, "/everypath.%ld.%d", (long) getpid(), number);
		made = mq_open(c->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
		if (made == (mqd_t) -1)
			return wrong(c, "no message queue of POSIX of this capacity (/proc/sys/fs/mqueue/msg_max)");
		mq_close(made);
	}
	return 1;
}

static int put(struct channel *c, const int *values)
{
	struct letter letter = { .kind = 1 };
	memcpy(letter.values, values, sizeof letter.values);
	if (c->carrier == EP_SYSV ? msgsnd(c->queue, &letter, size_of(c), IPC_NOWAIT) < 0
				  : mq_send(descriptor(c), (const char *) letter.values, size_of(c), 0) < 0)
		return wrong(c, "a message cannot be sent");
	return 1;
}

static int take(struct channel *c, int *values)
{
	struct letter letter = { 0 };
	if (c->carrier == EP_SYSV ? msgrcv(c->queue, &letter, size_of(c), 0, IPC_NOWAIT) < 0
				  : mq_receive(descriptor(c), (char *) letter.values, size_of(c), NULL) < 0)
		return wrong(c, "a message cannot be received");
	memcpy(values, letter.values, sizeof letter.values);
	return 1;
}

/* A queue of the system gives its first message only. For anything else all are taken out, looked at
 * and put back. */
static int take_all(struct channel *c)
{
	c->head = 0;
	for (int i = 0; i < c->count && c->carrier != EP_MEMORY; i++)
		if (!take(c, c->messages[i]))
			return 0;
	return 1;
}

static int *message(struct channel *c, int position)
{
	return c->messages[(c->head + position) % (c->capacity ? c->capacity : 1)];
}

static int put_all(struct channel *c)
{
	for (int i = 0; i < c->count && c->carrier != EP_MEMORY; i++)
		if (!put(c, message(c, i)))
			return 0;
	return 1;
}

void state_close(struct state *state)
{
	for (int i = 1; i <= state->channels; i++) {
		struct channel *c = &state->channel[i];
		if (c->carrier == EP_SYSV && c->capacity)
			msgctl(c->queue, IPC_RMID, NULL);
		if (c->carrier == EP_POSIX && c->capacity)
			mq_unlink(c->name);
	}
}

/* --- Channels */

static int make_channel(struct state *state, const struct request *request)
{
	struct channel *c;
	if (state->channels == EP_CHANNELS || request->count < 0 || request->count > 255)
		return 0;
	c = &state->channel[++state->channels];
	memset(c, 0, sizeof *c);
	c->capacity = request->count;
	while (c->fields < EP_FIELDS && request->types[c->fields]) {
		c->types[c->fields] = (char) request->types[c->fields];
		c->fields++;
	}
	c->carrier = c->capacity ? (enum ep_carrier) request->any : EP_MEMORY;
	for (int i = 0; i < EP_FIELDS; i++)
		c->label[i] = (char) request->fields[i].match;
	return make_queue(c, state->channels) ? state->channels : BROKEN_QUEUE;
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

static int larger(const struct channel *c, const int *a, const int *b)
{
	for (int i = 0; i < c->fields; i++)
		if (a[i] != b[i])
			return a[i] > b[i];
	return 0;
}

/* An offer that is already there is asked for; otherwise one is made. */
static int offer(struct channel *c, struct request *request, const int *values)
{
	struct offer *mine = NULL, *empty = NULL;
	for (int i = 0; i < EP_OFFERS; i++) {
		struct offer *o = &c->offers[i];
		if (o->by == request->who && o->line == request->line && o->column == request->column)
			mine = o;
		else if (!o->by && !empty)
			empty = o;
	}
	if (mine) {
		int taken = mine->taken;
		if (taken)
			mine->by = 0;
		/* Who received has written the step. */
		request->who = 0;
		return taken;
	}
	if (empty) {
		empty->taken = 0;
		empty->line = request->line;
		empty->column = request->column;
		memcpy(empty->values, values, sizeof empty->values);
		empty->by = request->who;
		request->changed = 1;
	}
	return 0;
}

static int send_message(struct channel *c, struct request *request)
{
	int place, values[EP_FIELDS] = { 0 };
	for (int i = 0; i < c->fields; i++)
		values[i] = i < request->count ? cut(c->types[i], request->fields[i].value) : 0;
	if (c->capacity == 0)
		return offer(c, request, values);
	if (c->count == c->capacity)
		return 0;
	request->changed = 1;
	if (!request->sorted && c->carrier != EP_MEMORY) {
		if (!put(c, values))
			return BROKEN_QUEUE;
		c->count++;
		return 1;
	}
	if (c->carrier != EP_MEMORY && !take_all(c))
		return BROKEN_QUEUE;
	place = c->count;
	while (request->sorted && place > 0 && larger(c, message(c, place - 1), values)) {
		memcpy(message(c, place), message(c, place - 1), sizeof values);
		place--;
	}
	memcpy(message(c, place), values, sizeof values);
	c->count++;
	return put_all(c) ? 1 : BROKEN_QUEUE;
}

static int fits(const struct channel *c, const int *values, const struct request *request)
{
	for (int i = 0; i < request->count && i < c->fields; i++)
		if (request->fields[i].match && request->fields[i].value != values[i])
			return 0;
	return 1;
}

static void tell(const struct channel *c, const int *values, struct request *request)
{
	for (int i = 0; i < request->count && i < c->fields; i++)
		request->fields[i].value = values[i];
}

void state_forget(struct state *state, int32_t who)
{
	for (int k = 1; k <= state->channels; k++)
		for (int i = 0; i < EP_OFFERS; i++)
			if (state->channel[k].offers[i].by == who)
				state->channel[k].offers[i].by = 0;
}

static int receive_offer(struct state *state, struct channel *c, struct request *request)
{
	for (int i = 0; i < EP_OFFERS; i++) {
		struct offer *o = &c->offers[i];
		int32_t by = o->by;
		if (!by || o->taken || by == request->who || !fits(c, o->values, request))
			continue;
		tell(c, o->values, request);
		/* Of the offers of one process, one is taken. */
		state_forget(state, by);
		o->by = by;
		o->taken = 1;
		request->who = by;
		request->line = o->line;
		request->column = o->column;
		request->changed = 1;
		return 1;
	}
	return 0;
}

/* The position of the first message that fits, or of none. */
static int find(struct channel *c, const struct request *request)
{
	for (int i = 0; i < (request->any ? c->count : c->count > 0); i++)
		if (fits(c, message(c, i), request))
			return i;
	return -1;
}

static int receive_message(struct state *state, struct channel *c, struct request *request)
{
	int position, match = 0;
	if (c->capacity == 0)
		return receive_offer(state, c, request);
	request->who = 0;
	if (c->count == 0)
		return 0;
	for (int i = 0; i < request->count; i++)
		match |= request->fields[i].match;
	request->changed = !request->keep;
	if (c->carrier != EP_MEMORY && !match && !request->keep) {
		int values[EP_FIELDS];
		if (!take(c, values))
			return BROKEN_QUEUE;
		tell(c, values, request);
		c->count--;
		return 1;
	}
	if (c->carrier != EP_MEMORY && !take_all(c))
		return BROKEN_QUEUE;
	position = find(c, request);
	if (position >= 0) {
		tell(c, message(c, position), request);
		if (!request->keep) {
			for (int i = position; i + 1 < c->count; i++)
				memcpy(message(c, i), message(c, i + 1), sizeof c->messages[0]);
			c->count--;
		}
	}
	return put_all(c) ? position >= 0 : BROKEN_QUEUE;
}

static int has_message(struct channel *c, const struct request *request)
{
	int found;
	if (c->carrier != EP_MEMORY && !take_all(c))
		return BROKEN_QUEUE;
	found = find(c, request) >= 0;
	return put_all(c) ? found : BROKEN_QUEUE;
}

/* --- Processes */

static int new_process(struct state *state)
{
	int number = state->top;
	/* A program that runs for long uses the numbers of those that have ended again. */
	for (int i = 0; number == EP_PROCESSES && i < EP_PROCESSES; i++)
		if (state->numbers[i] == ENDED)
			number = i;
	if (number == EP_PROCESSES)
		return -1;
	state->numbers[number] = ALIVE;
	if (number == state->top)
		state->top++;
	return number;
}

static int end_process(struct state *state, int number)
{
	if (number >= 0 && number < EP_PROCESSES && state->numbers[number] == ALIVE)
		state->numbers[number] = ENDED;
	while (state->top > 0 && state->numbers[state->top - 1] == ENDED)
		state->numbers[--state->top] = UNUSED;
	return 1;
}

int state_alive(const struct state *state)
{
	int alive = 0;
	for (int i = 0; i < state->top; i++)
		alive += state->numbers[i] == ALIVE;
	return alive;
}

int state_whole(const struct state *state)
{
	return state->whole;
}

void state_answer(struct state *state, struct request *request)
{
	struct channel *c = NULL;
	request->changed = 0;
	if (request->count < 0 || (request->count > EP_FIELDS && request->kind != MAKE_CHANNEL)) {
		request->result = -1;
		return;
	}
	if (request->kind >= SEND && request->kind <= CAPACITY) {
		if (request->channel < 1 || request->channel > state->channels) {
			request->result = -1;
			return;
		}
		c = &state->channel[request->channel];
	}
	switch ((enum request_kind) request->kind) {
	case MAKE_CHANNEL:
		request->result = make_channel(state, request);
		break;
	case SEND:
		request->result = send_message(c, request);
		break;
	case WITHDRAW:
		for (int i = 0; i < EP_OFFERS; i++)
			if (c->offers[i].by == request->who)
				c->offers[i].by = 0;
		request->result = 1;
		break;
	case RECEIVE:
		request->result = receive_message(state, c, request);
		break;
	case POLL:
		request->result = has_message(c, request);
		break;
	case LENGTH:
		request->result = c->count;
		break;
	case CAPACITY:
		request->result = c->capacity;
		break;
	case NEW_PROCESS:
		request->result = new_process(state);
		break;
	case END_PROCESS:
		request->result = end_process(state, request->channel);
		break;
	case COUNT_PROCESSES:
		request->result = state->top;
		break;
	case WHOLE:
		request->result = state->whole = request->count;
		break;
	default:
		request->result = -1;
	}
}
