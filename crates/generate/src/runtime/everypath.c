/* What every generated program does, wherever its shared state is; see everypath.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "inside.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>

void *ep_variables;
int ep_tracing;

static struct own alone;
struct own *own = &alone;
static int shares, trace = -1;

void ep_complain(const char *what)
{
	int error = errno;
	fprintf(stderr, "%s: %s%s%s\n", own->name ? own->name : "everypath", what, error ? ": " : "", error ? strerror(error) : "");
}

void fail(const char *what)
{
	ep_complain(what);
	exit(EXIT_FAILURE);
}

/* How long `timeout` waits. */
long patience(void)
{
	const char *given = getenv("EP_TIMEOUT");
	return given ? atol(given) : 200;
}

/* --- Traces */

void open_trace(void)
{
	const char *path = getenv("EP_TRACE");
	if (!path)
		return;
	trace = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	ep_tracing = trace >= 0;
	if (trace < 0)
		ep_complain("the trace cannot be opened");
}

void write_trace(const char *text)
{
	/* One write is one line, whoever else writes. */
	if (trace >= 0 && write(trace, text, strlen(text)) < 0)
		ep_complain("the trace cannot be written");
}

static void step_of(long process, int line, int column)
{
	char text[96];
	snprintf(text, sizeof text, "step %ld %d %d\n", process, line, column);
	write_trace(text);
}

/* A violation, as a line of its own. */
static void failure_at(int line, int column)
{
	char text[96];
	snprintf(text, sizeof text, "fail %ld %d %d\n", own->id, line, column);
	write_trace(text);
}

void ep_step(int line, int column)
{
	step_of(own->id, line, column);
}

void ep_values(int given, ...)
{
	char text[1024];
	int length = snprintf(text, sizeof text, "value %ld", own->id);
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

/* --- Processes */

/* Whether this process has said that it ends. */
static int finished;
static void left(void);

static int ask(int kind, int number)
{
	struct request request = { .kind = kind, .channel = number };
	back_answer(&request);
	return request.result;
}

void ep_attach(const char *name, int argc, char **argv, int shared, size_t size, void (*start)(void))
{
	const char *given = getenv("EP_NUMBER");
	own->name = name;
	own->id = (long) getpid();
	own->number = given ? atoi(given) : -1;
	shares = shared;
	for (int i = 1; i < argc && own->count < EP_FIELDS; i++)
		own->arguments[own->count++] = atoi(argv[i]);
	open_trace();
	signal(SIGPIPE, SIG_IGN);
	if (shares) {
		back_open(size, start);
		back_at_exit(left);
	}
	if (!given && ep_tracing) {
		char line[128];
		snprintf(line, sizeof line, "start %ld %s\n", own->id, name);
		write_trace(line);
	}
	/* A program that was started by hand: others may come in the same way. */
	if (shares && !given && strcmp(name, "init") != 0) {
		struct request request = { .kind = WHOLE, .count = 0 };
		ep_begin();
		ep_enter();
		back_answer(&request);
		ep_end();
	}
}

void ep_enter(void)
{
	struct request request = { 0 };
	if (!shares)
		return;
	ep_begin();
	request.kind = NEW_PROCESS;
	request.line = 1;
	back_answer(&request);
	own->number = request.result;
	if (own->number < 0)
		fail("there are too many processes");
	ep_changed();
	ep_end();
}

void ep_started(void)
{
	struct request request = { .kind = WHOLE, .count = 1 };
	if (shares)
		back_answer(&request);
}

static void end_of(int number)
{
	ep_begin();
	ask(END_PROCESS, number);
	ep_changed();
	ep_end();
}

/* A piece of C has called `exit`: the process has ended for the others, too. */
static void left(void)
{
	if (finished || !shares || own->number < 0 || getpid() != own->id)
		return;
	finished = 1;
	if (own->depth++ == 0)
		back_lock();
	ask(END_PROCESS, own->number);
	ep_changed();
	own->depth = 1;
	ep_end();
}

int known_to_stop(void)
{
	int known;
	if (!shares)
		return 1;
	if (own->depth++ == 0)
		back_lock();
	known = back_stopped() != 0;
	ep_again();
	return known;
}

void gone(int number)
{
	if (!shares)
		return;
	/* It may be noticed in the middle of a step, when the next process is started. */
	if (own->depth++ == 0)
		back_lock();
	ask(END_PROCESS, number);
	back_stop(STOP_FAILURE);
	ep_changed();
	ep_again();
}

int ep_finish(void)
{
	int failed;
	/* Output is not lost if a process that this one waits for never ends. */
	fflush(stdout);
	/* In the model a process has ended before those that it has started. */
	if (shares && own->number >= 0)
		end_of(own->number);
	finished = 1;
	failed = back_join();
	if (shares)
		back_close();
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Others have decided that the program ends. */
static void heed_stop(void)
{
	int how = back_stopped();
	if (!how)
		return;
	own->depth = 0;
	finished = 1;
	back_unlock(0);
	fflush(stdout);
	back_join();
	back_close();
	exit(how == STOP_FAILURE ? EXIT_FAILURE : EXIT_SUCCESS);
}

void ep_fault(const char *what, int line, int column)
{
	fflush(stdout);
	finished = 1;
	if (line)
		fprintf(stderr, "%s: %s:%d:%d: %s\n", own->name ? own->name : "everypath", ep_source, line, column, what);
	else
		fprintf(stderr, "%s: %s: %s\n", own->name ? own->name : "everypath", ep_source, what);
	failure_at(line, column);
	if (shares) {
		if (own->depth == 0)
			back_lock();
		back_stop(STOP_FAILURE);
		own->depth = 0;
		back_unlock(1);
	}
	back_join();
	if (shares)
		back_close();
	exit(EXIT_FAILURE);
}

int ep_pid(void)
{
	return own->number;
}

int ep_processes(void)
{
	return shares ? ask(COUNT_PROCESSES, 0) : 1;
}

int ep_argument(int which)
{
	return which < own->count ? own->arguments[which] : 0;
}

void announce(const char *word, long child, const char *name)
{
	char line[256];
	snprintf(line, sizeof line, "%s %ld %ld %.100s\n", word, own->id, child, name);
	write_trace(line);
}

static int start_process(const char *name, int given, const int *values, const char *word)
{
	int number = 1;
	long child;
	if (shares) {
		ep_begin();
		number = ask(NEW_PROCESS, 0);
	}
	child = number >= 0 ? back_start(word, name, given, values, number) : -1;
	if (shares) {
		if (child < 0 && number >= 0)
			ask(END_PROCESS, number);
		ep_changed();
		ep_end();
	}
	return child > 0 ? number : 0;
}

int ep_run(const char *name, int given, const int *values)
{
	return start_process(name, given, values, "run");
}

int ep_active(const char *name, int given, const int *values)
{
	return start_process(name, given, values, "active");
}

/* --- Steps */

void ep_begin(void)
{
	if (shares && own->depth++ == 0) {
		back_lock();
		heed_stop();
	}
}

void ep_end(void)
{
	own->timed_out = 0;
	ep_again();
}

void ep_again(void)
{
	if (shares && --own->depth == 0) {
		int changed = own->changed;
		own->changed = 0;
		back_unlock(changed);
	}
}

void ep_changed(void)
{
	own->changed = 1;
}

static void sleep_for(long milliseconds, int ending)
{
	int held = own->depth, changed = own->changed, over;
	if (!shares) {
		/* Nothing can change, so without a limit this is for ever. */
		if (milliseconds < 0) {
			errno = 0;
			if (!ending)
				ep_complain("this process waits, and nobody can wake it");
			fflush(stdout);
			exit(back_join() || !ending ? EXIT_FAILURE : EXIT_SUCCESS);
		}
		ep_ready(-1, 0, (int) milliseconds);
		own->timed_out = milliseconds >= 0;
		return;
	}
	/* The lock is given up whole, however many steps are nested. */
	own->depth = own->changed = 0;
	/* What was printed is seen while the process waits. */
	fflush(stdout);
	over = back_wait(changed, milliseconds, ending);
	heed_stop();
	own->depth = held;
	own->timed_out = over;
}

void ep_wait(void)
{
	sleep_for(-1, 0);
}

void ep_wait_end(void)
{
	sleep_for(-1, 1);
}

void ep_wait_timed(void)
{
	sleep_for(patience(), 0);
}

int ep_timed_out(void)
{
	return own->timed_out;
}

/* --- Channels */

static void changes(const struct request *request)
{
	if (request->changed)
		ep_changed();
}

/* The name of the channel that is made next. */
static const char *channel_name = "";

void ep_name(const char *name)
{
	channel_name = name;
}

int ep_channel(int capacity, const char *types, enum ep_carrier carrier)
{
	struct request request = { .kind = MAKE_CHANNEL, .count = capacity, .any = (int32_t) carrier };
	if (!shares)
		fail("a channel in a program that shares nothing");
	for (int i = 0; i < EP_FIELDS && types[i]; i++)
		request.types[i] = types[i];
	for (int i = 0; i < EP_FIELDS && channel_name[i]; i++)
		request.fields[i].match = channel_name[i];
	channel_name = "";
	ep_begin();
	back_answer(&request);
	ep_end();
	errno = 0;
	if (request.result <= 0)
		fail("no further channel can be made");
	return request.result;
}

static void existing(const struct request *request)
{
	if (request->result == NO_CHANNEL)
		ep_fault("an operation on a channel that does not exist", request->line, request->column);
	if (request->result == BROKEN_QUEUE)
		ep_fault("the queue of a channel does not work", request->line, request->column);
}

int ep_try_send(int channel, int count, const int *values, int sorted, int line, int column)
{
	struct request request = { .kind = SEND, .channel = channel, .count = count, .sorted = sorted, .line = line, .column = column };
	for (int i = 0; i < count && i < EP_FIELDS; i++)
		request.fields[i].value = values[i];
	request.who = (int32_t) own->id;
	back_answer(&request);
	existing(&request);
	changes(&request);
	/* The step of a rendezvous is written by who receives. */
	if (request.result == 1 && request.who && ep_tracing)
		ep_step(line, column);
	return request.result;
}

void ep_withdraw(int channel)
{
	struct request request = { .kind = WITHDRAW, .channel = channel, .who = (int32_t) own->id };
	back_answer(&request);
	existing(&request);
}

int ep_try_receive(int channel, int count, struct ep_field *fields, int any, int keep)
{
	struct request request = { .kind = RECEIVE, .channel = channel, .count = count, .any = any, .keep = keep };
	for (int i = 0; i < count && i < EP_FIELDS; i++) {
		request.fields[i].match = fields[i].match;
		request.fields[i].value = fields[i].value;
	}
	request.who = (int32_t) own->id;
	back_answer(&request);
	existing(&request);
	if (!request.result)
		return 0;
	changes(&request);
	for (int i = 0; i < count && i < EP_FIELDS; i++)
		fields[i].value = request.fields[i].value;
	/* Both halves are one step of the model: the sender's line comes first. */
	if (request.who && ep_tracing)
		step_of(request.who, request.line, request.column);
	return 1;
}

int ep_poll(int channel, int count, const struct ep_field *fields, int any)
{
	struct request request = { .kind = POLL, .channel = channel, .count = count, .any = any };
	for (int i = 0; i < count && i < EP_FIELDS; i++) {
		request.fields[i].match = fields[i].match;
		request.fields[i].value = fields[i].value;
	}
	back_answer(&request);
	existing(&request);
	return request.result;
}

static int of_channel(int kind, int channel)
{
	struct request request = { .kind = kind, .channel = channel };
	back_answer(&request);
	existing(&request);
	return request.result;
}

int ep_length(int channel)
{
	return of_channel(LENGTH, channel);
}

int ep_capacity(int channel)
{
	return of_channel(CAPACITY, channel);
}
