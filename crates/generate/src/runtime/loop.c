/* All processes of the model in one process of the system: each has a stack of its own, and one that
 * waits gives way to the next. When all wait, the process sleeps in poll until a descriptor is ready
 * or a time is over. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "inside.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

enum { STACK = 1 << 20, GUARD = 4096 };

enum condition { FREE, READY, WAITING, POLLING };

struct process {
	struct own own;
	enum condition condition;
	ucontext_t context;
	char *stack;
	int (*body)(void);
	long long limit; /* in milliseconds of the monotonic clock; -1 is none */
	int over;
	struct pollfd descriptor;
	int ready;
	int ending;
};

static struct process processes[EP_PROCESSES + 1];
static struct process *now;
static ucontext_t scheduler;
static const struct ep_type *types;
static int type_count;
static struct state *state;

static long long milliseconds_now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (long long) time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void back_open(size_t size, void (*start)(void))
{
	state = calloc(1, state_size());
	ep_variables = calloc(1, size ? size : 1);
	if (!state || !ep_variables)
		fail("no memory");
	start();
}

static void give_way(void)
{
	swapcontext(&now->context, &scheduler);
}

static void body(void)
{
	now->body();
	now->condition = FREE;
	give_way();
}

long back_start(const char *word, const char *name, int count, const int *arguments, int number)
{
	static long started;
	struct process *p = NULL;
	int (*found)(void) = NULL;
	for (int i = 0; i < type_count; i++)
		if (strcmp(types[i].name, name) == 0)
			found = types[i].body;
	for (int i = 0; i <= EP_PROCESSES && !p; i++)
		if (processes[i].condition == FREE)
			p = &processes[i];
	if (!p || !found) {
		errno = 0;
		ep_complain("no process can be started");
		return -1;
	}
	if (!p->stack) {
		char *stack = mmap(NULL, STACK + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		if (stack == MAP_FAILED || mprotect(stack, GUARD, PROT_NONE) < 0) {
			ep_complain("no process can be started");
			return -1;
		}
		p->stack = stack;
	}
	memset(&p->own, 0, sizeof p->own);
	p->own.name = name;
	/* The first one has the number that its line of the trace says. */
	p->own.id = (long) getpid() + started++;
	p->own.number = number;
	p->own.count = count;
	for (int i = 0; i < count; i++)
		p->own.arguments[i] = arguments[i];
	p->body = found;
	p->condition = READY;
	p->limit = -1;
	getcontext(&p->context);
	p->context.uc_stack.ss_sp = p->stack + GUARD;
	p->context.uc_stack.ss_size = STACK;
	p->context.uc_link = &scheduler;
	makecontext(&p->context, body, 0);
	if (word)
		announce(word, p->own.id, name);
	return p->own.id;
}

static void wake_all(int changed)
{
	for (int i = 0; i <= EP_PROCESSES && changed; i++)
		if (processes[i].condition == WAITING)
			processes[i].condition = READY;
}

void back_lock(void)
{
}

void back_unlock(int changed)
{
	wake_all(changed);
	if (now)
		give_way();
}

int back_wait(int changed, long milliseconds, int ending)
{
	wake_all(changed);
	now->ending = ending;
	now->condition = WAITING;
	now->limit = milliseconds < 0 ? -1 : milliseconds_now() + milliseconds;
	now->over = 0;
	give_way();
	now->limit = -1;
	return now->over;
}

void ep_turn(void)
{
	if (own->depth == 0)
		give_way();
}

int ep_ready(int descriptor, short events, int milliseconds)
{
	now->condition = POLLING;
	now->descriptor = (struct pollfd) { descriptor, events, 0 };
	now->limit = milliseconds < 0 ? -1 : milliseconds_now() + milliseconds;
	now->ready = 0;
	give_way();
	now->limit = -1;
	return now->ready;
}

void back_answer(struct request *request)
{
	state_answer(state, request);
}

void back_close(void)
{
}

int back_join(void)
{
	return 0;
}

/* Whoever leaves ends the one process that there is. */
void back_at_exit(void (*left)(void))
{
	(void) left;
}

/* Whoever stops ends the one process that there is. */
void back_stop(int how)
{
	state_close(state);
	exit(how == STOP_FAILURE ? EXIT_FAILURE : EXIT_SUCCESS);
}

int back_stopped(void)
{
	return 0;
}

/* Whether everybody who waits is where the model may end. */
static int may_end(void)
{
	for (int i = 0; i <= EP_PROCESSES; i++)
		if (processes[i].condition == WAITING && !processes[i].ending)
			return 0;
	return 1;
}

void ep_leave(void)
{
	ep_finish();
	now->condition = FREE;
	give_way();
}

/* Looks at descriptors and times; without anybody who is ready it sleeps until there is one. False
 * if nobody can ever go on. */
static int look(int anybody)
{
	struct pollfd wanted[EP_PROCESSES + 1];
	struct process *who[EP_PROCESSES + 1];
	long long first = -1, time;
	int count = 0, wait;
	for (int i = 0; i <= EP_PROCESSES; i++) {
		struct process *p = &processes[i];
		if (p->condition != WAITING && p->condition != POLLING)
			continue;
		if (p->limit >= 0 && (first < 0 || p->limit < first))
			first = p->limit;
		if (p->condition == POLLING && p->descriptor.fd >= 0) {
			who[count] = p;
			wanted[count++] = p->descriptor;
		}
	}
	if (count == 0 && first < 0)
		return anybody;
	time = milliseconds_now();
	wait = anybody ? 0 : first < 0 ? -1 : first > time ? (int) (first - time) : 0;
	if (poll(wanted, (nfds_t) count, wait) < 0 && errno != EINTR)
		fail("poll");
	for (int i = 0; i < count; i++)
		if (wanted[i].revents) {
			who[i]->ready = 1;
			who[i]->condition = READY;
		}
	time = milliseconds_now();
	for (int i = 0; i <= EP_PROCESSES; i++) {
		struct process *p = &processes[i];
		if ((p->condition == WAITING || p->condition == POLLING) && p->limit >= 0 && p->limit <= time) {
			p->over = 1;
			p->condition = READY;
		}
	}
	return 1;
}

int ep_loop(const struct ep_type *given, int count, size_t size, void (*start)(void))
{
	char *no_arguments[] = { "init", NULL };
	int anybody, alive, rounds = 0, status = EXIT_SUCCESS;
	types = given;
	type_count = count;
	unsetenv("EP_NUMBER");
	ep_attach("init", 1, no_arguments, 1, size, start);
	/* The first type is that of the process that starts the others; its line is written. */
	if (back_start(NULL, given[0].name, 0, NULL, -1) < 0)
		return EXIT_FAILURE;
	do {
		anybody = alive = 0;
		for (int i = 0; i <= EP_PROCESSES; i++) {
			struct process *p = &processes[i];
			if (p->condition == READY) {
				struct own *before = own;
				now = p;
				own = &p->own;
				swapcontext(&scheduler, &p->context);
				own = before;
				now = NULL;
			}
			anybody |= p->condition == READY;
			alive |= p->condition != FREE;
		}
		/* While somebody is ready, the others are looked at now and then. */
		if (alive && (!anybody || ++rounds % 64 == 0) && !look(anybody)) {
			errno = 0;
			if (!may_end()) {
				ep_complain("every process waits for another one");
				status = EXIT_FAILURE;
			}
			break;
		}
	} while (alive);
	state_close(state);
	fflush(stdout);
	return status;
}
