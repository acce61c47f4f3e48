/* The shared state in a process of its own, which the others reach by a Unix or a TCP socket. They
 * may be on other machines of the same kind.
 *
 * The first process starts the broker. EP_LISTEN says where it listens (unix:PATH, tcp:HOST:PORT),
 * EP_SERVER where a process finds one that runs already, and EP_SECRET what both must know. Who has
 * the lock gets the shared variables with it, and gives them back if it has changed them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "inside.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

enum { SECRET = 64, CLIENTS = EP_PROCESSES + 2, MARK = 0x01020304 };

/* What is asked of the broker beside questions to the state. */
enum { HELLO = 100, LOCK, UNLOCK, WAIT, STOP };

static int line_to_broker = -1;
static char place[128], secret[SECRET + 1];
static size_t variables_size;

/* --- Both ends */

static void turn(struct request *request, uint32_t (*convert)(uint32_t))
{
	int32_t *words = (int32_t *) request;
	for (size_t i = 0; i < sizeof *request / sizeof *words; i++)
		words[i] = (int32_t) convert((uint32_t) words[i]);
}

static int put_bytes(int to, const void *bytes, size_t length)
{
	const char *next = bytes;
	while (length > 0) {
		ssize_t written = send(to, next, length, MSG_NOSIGNAL);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return 0;
		next += written;
		length -= (size_t) written;
	}
	return 1;
}

static int get_bytes(int from, void *bytes, size_t length)
{
	char *next = bytes;
	while (length > 0) {
		ssize_t got = recv(from, next, length, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 0;
		next += got;
		length -= (size_t) got;
	}
	return 1;
}

/* An address, as unix:PATH or tcp:HOST:PORT; its length, or 0. */
static socklen_t address_of(const char *text, struct sockaddr_storage *out)
{
	memset(out, 0, sizeof *out);
	if (strncmp(text, "unix:", 5) == 0) {
		struct sockaddr_un *to = (struct sockaddr_un *) out;
		if (strlen(text + 5) >= sizeof to->sun_path)
			return 0;
		to->sun_family = AF_UNIX;
		strcpy(to->sun_path, text + 5);
		return (socklen_t) sizeof *to;
	}
	if (strncmp(text, "tcp:", 4) == 0) {
		char host[100];
		const char *colon = strrchr(text + 4, ':');
		struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
		socklen_t length = 0;
		if (!colon || (size_t) (colon - text - 4) >= sizeof host)
			return 0;
		snprintf(host, sizeof host, "%.*s", (int) (colon - text - 4), text + 4);
		if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
			return 0;
		memcpy(out, found->ai_addr, found->ai_addrlen);
		length = found->ai_addrlen;
		freeaddrinfo(found);
		return length;
	}
	return 0;
}

static int socket_for(const struct sockaddr_storage *address)
{
	int made = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
	if (made >= 0 && address->ss_family != AF_UNIX)
		setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	return made;
}

/* --- The broker */

struct client {
	int fd; /* 0: free */
	enum { STRANGER, IDLE, WANTS, OWNS, WAITS } condition;
	int32_t process;
	int number, timed_out, ending;
	long long limit;
	size_t used;
	char *bytes;
};

static struct client clients[CLIENTS];
static struct state *state;
static char *variables;
static int begun, stop;

static long long time_now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (long long) time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int answer(struct client *client, struct request request, int with_variables)
{
	turn(&request, htonl);
	return put_bytes(client->fd, &request, sizeof request) && (!with_variables || put_bytes(client->fd, variables, variables_size));
}

static void changed(void)
{
	for (int i = 0; i < CLIENTS; i++)
		if (clients[i].fd && clients[i].condition == WAITS)
			clients[i].condition = WANTS;
}

static void drop(struct client *client)
{
	int32_t who = (int32_t) (client - clients) + 1;
	if (client->condition != STRANGER) {
		struct request request = { .kind = END_PROCESS, .channel = client->number };
		/* One that ends in the middle has failed: those that wait for it would wait for ever. */
		if (client->number >= 0) {
			state_answer(state, &request);
			if (!stop)
				stop = STOP_FAILURE;
		}
		state_forget(state, who);
		changed();
	}
	close(client->fd);
	free(client->bytes);
	memset(client, 0, sizeof *client);
}

/* Gives the lock to the next who wants it, the one that waits longest in the circle. */
static void grant(void)
{
	static int next;
	for (int i = 0; i < CLIENTS; i++)
		if (clients[i].fd && clients[i].condition == OWNS)
			return;
	for (int i = 0; i < CLIENTS; i++) {
		struct client *client = &clients[(next + i) % CLIENTS];
		struct request reply = { .result = 1 + stop };
		if (!client->fd || client->condition != WANTS)
			continue;
		client->condition = OWNS;
		reply.changed = client->timed_out;
		client->timed_out = 0;
		if (!answer(client, reply, 1)) {
			drop(client);
			continue;
		}
		next = (int) (client - clients) + 1;
		return;
	}
}

static int hello(struct client *client, struct request request, const char *given)
{
	int differs = 0;
	/* All of it is compared, however early it differs. */
	for (int i = 0; i < SECRET; i++)
		differs |= given[i] ^ secret[i];
	if (differs || request.count != MARK || (size_t) request.channel != variables_size)
		return 0;
	client->process = request.who;
	client->number = request.line;
	/* The first one sets the variables, under the lock. */
	request.result = begun ? 1 : 2;
	client->condition = begun ? IDLE : OWNS;
	begun = 1;
	return answer(client, request, 0);
}

/* If all processes wait without a limit, nobody can go on. */
static void look_for_end(void)
{
	int waiting = 0, ending = 0;
	for (int i = 0; i < CLIENTS; i++) {
		struct client *client = &clients[i];
		if (client->fd && (client->condition == OWNS || client->condition == WANTS))
			return;
		if (client->fd && client->condition == WAITS && client->limit < 0) {
			waiting++;
			ending += client->ending;
		}
	}
	if (stop || !waiting || !state_whole(state) || waiting != state_alive(state))
		return;
	stop = waiting == ending ? STOP_END : STOP_FAILURE;
	errno = 0;
	if (stop == STOP_FAILURE)
		ep_complain("every process waits for another one");
	changed();
}

/* A whole question; false if the client is to be dropped. */
static int serve(struct client *client, struct request request, const char *more)
{
	int32_t who = (int32_t) (client - clients) + 1;
	if (client->condition == STRANGER)
		return request.kind == HELLO && hello(client, request, more);
	if (request.kind == LOCK && client->condition == IDLE) {
		client->condition = WANTS;
		return 1;
	}
	if (client->condition != OWNS)
		return 0;
	if (request.kind == UNLOCK || request.kind == WAIT) {
		if (request.changed) {
			memcpy(variables, more, variables_size);
			changed();
		}
		client->condition = request.kind == WAIT ? WAITS : IDLE;
		client->ending = request.count;
		client->limit = request.line < 0 ? -1 : time_now() + request.line;
		return 1;
	}
	if (request.kind == STOP) {
		if (!stop)
			stop = request.count;
		changed();
		return answer(client, request, 0);
	}
	request.who = who;
	/* A new process for itself is one that nobody has started. */
	if (request.kind == NEW_PROCESS && request.line)
		request.line = 2;
	state_answer(state, &request);
	if (request.kind == NEW_PROCESS && request.line == 2)
		client->number = request.result;
	if (request.kind == END_PROCESS && request.channel == client->number)
		client->number = -1;
	if (request.kind == RECEIVE && request.result && request.who > 0 && request.who <= CLIENTS)
		request.who = clients[request.who - 1].process;
	return answer(client, request, 0);
}

/* How many bytes follow a question. */
static size_t following(const struct client *client, const struct request *request)
{
	if (client->condition == STRANGER)
		return SECRET;
	return (request->kind == UNLOCK || request->kind == WAIT) && request->changed ? variables_size : 0;
}

static int hear(struct client *client)
{
	size_t room = sizeof(struct request) + (variables_size > SECRET ? variables_size : SECRET);
	struct request request;
	ssize_t got = recv(client->fd, client->bytes + client->used, room - client->used, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 1;
	if (got <= 0)
		return 0;
	client->used += (size_t) got;
	while (client->used >= sizeof request) {
		size_t whole;
		memcpy(&request, client->bytes, sizeof request);
		turn(&request, ntohl);
		whole = sizeof request + following(client, &request);
		if (client->used < whole)
			break;
		if (!serve(client, request, client->bytes + sizeof request))
			return 0;
		memmove(client->bytes, client->bytes + whole, client->used - whole);
		client->used -= whole;
	}
	return 1;
}

static void welcome(int listener)
{
	int fd = accept(listener, NULL, NULL);
	for (int i = 0; i < CLIENTS && fd >= 0; i++)
		if (!clients[i].fd) {
			clients[i] = (struct client) { .fd = fd, .limit = -1 };
			clients[i].bytes = malloc(sizeof(struct request) + variables_size + SECRET);
			if (clients[i].bytes)
				return;
			clients[i].fd = 0;
		}
	if (fd >= 0)
		close(fd);
}

/* Serves until everybody is gone, or nobody has come. */
static void broker(int listener)
{
	long long last = time_now() + 10000;
	while (begun || time_now() < last) {
		struct pollfd wanted[CLIENTS + 1] = { { listener, POLLIN, 0 } };
		struct client *who[CLIENTS + 1];
		long long first = begun ? -1 : last, time = time_now();
		int count = 1;
		for (int i = 0; i < CLIENTS; i++) {
			struct client *client = &clients[i];
			if (!client->fd)
				continue;
			who[count] = client;
			wanted[count++] = (struct pollfd) { client->fd, POLLIN, 0 };
			if (client->condition == WAITS && client->limit >= 0 && (first < 0 || client->limit < first))
				first = client->limit;
		}
		if (begun && count == 1)
			break;
		if (poll(wanted, (nfds_t) count, first < 0 ? -1 : first > time ? (int) (first - time) : 0) < 0 && errno != EINTR)
			fail("the broker");
		for (int i = 1; i < count; i++)
			if (wanted[i].revents && !hear(who[i]))
				drop(who[i]);
		if (wanted[0].revents)
			welcome(listener);
		time = time_now();
		for (int i = 0; i < CLIENTS; i++)
			if (clients[i].fd && clients[i].condition == WAITS && clients[i].limit >= 0 && clients[i].limit <= time) {
				clients[i].condition = WANTS;
				clients[i].timed_out = 1;
			}
		grant();
		look_for_end();
		grant();
	}
	if (strncmp(place, "unix:", 5) == 0)
		unlink(place + 5);
	_exit(EXIT_SUCCESS);
}

/* Starts a broker, and says in the environment where it is. */
static void start_broker(void)
{
	const char *given = getenv("EP_LISTEN");
	struct sockaddr_storage address;
	socklen_t length;
	int listener;
	if (given)
		snprintf(place, sizeof place, "%s", given);
	else if (strcmp(EP_TRANSPORT, "tcp") == 0)
		snprintf(place, sizeof place, "tcp:127.0.0.1:0");
	else
		snprintf(place, sizeof place, "unix:/tmp/everypath.%ld", (long) getpid());
	if (!getenv("EP_SECRET")) {
		unsigned char random[SECRET / 2];
		if (getrandom(random, sizeof random, 0) != (ssize_t) sizeof random)
			fail("no secret");
		for (int i = 0; i < SECRET / 2; i++)
			snprintf(secret + 2 * i, 3, "%02x", random[i]);
		setenv("EP_SECRET", secret, 1);
	}
	length = address_of(place, &address);
	listener = length ? socket_for(&address) : -1;
	umask(0077);
	if (listener < 0 || bind(listener, (struct sockaddr *) &address, length) < 0 || listen(listener, CLIENTS) < 0)
		fail(place);
	if (address.ss_family == AF_INET && getsockname(listener, (struct sockaddr *) &address, &length) == 0) {
		struct sockaddr_in *in = (struct sockaddr_in *) &address;
		char host[INET_ADDRSTRLEN] = "127.0.0.1";
		if (in->sin_addr.s_addr != htonl(INADDR_ANY))
			inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
		snprintf(place, sizeof place, "tcp:%s:%d", host, ntohs(in->sin_port));
	}
	setenv("EP_SERVER", place, 1);
	fflush(NULL);
	switch (fork()) {
	case -1:
		fail("no broker can be started");
	case 0:
		/* It lives as long as anybody is connected, and is nobody's child to wait for. */
		if (fork() != 0)
			_exit(EXIT_SUCCESS);
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		state = calloc(1, state_size());
		variables = calloc(1, variables_size ? variables_size : 1);
		if (!state || !variables)
			fail("no memory");
		broker(listener);
		_exit(EXIT_SUCCESS);
	default:
		close(listener);
	}
}

/* --- A process that uses it */

static int stopped;

static void lost(void)
{
	errno = 0;
	fail("the broker is gone");
}

static void say(struct request request, const void *more, size_t length)
{
	turn(&request, htonl);
	if (!put_bytes(line_to_broker, &request, sizeof request) || (length && !put_bytes(line_to_broker, more, length)))
		lost();
}

static struct request hear_answer(void)
{
	struct request request;
	if (!get_bytes(line_to_broker, &request, sizeof request))
		lost();
	turn(&request, ntohl);
	return request;
}

void back_open(size_t size, void (*start)(void))
{
	struct request request = { .kind = HELLO, .count = MARK, .channel = (int32_t) size };
	struct sockaddr_storage address;
	socklen_t length;
	const char *known;
	variables_size = size;
	known = getenv("EP_SECRET");
	if (known)
		snprintf(secret, sizeof secret, "%s", known);
	if (!getenv("EP_SERVER"))
		start_broker();
	snprintf(place, sizeof place, "%s", getenv("EP_SERVER"));
	length = address_of(place, &address);
	line_to_broker = length ? socket_for(&address) : -1;
	if (line_to_broker < 0 || connect(line_to_broker, (struct sockaddr *) &address, length) < 0)
		fail(place);
	ep_variables = calloc(1, size ? size : 1);
	if (!ep_variables)
		fail("no memory");
	request.who = (int32_t) getpid();
	request.line = own->number;
	say(request, secret, SECRET);
	if (!get_bytes(line_to_broker, &request, sizeof request)) {
		errno = 0;
		fail("the broker does not know this program, or the secret is another one");
	}
	turn(&request, ntohl);
	if (request.result == 2) {
		/* The lock is held already. */
		own->depth = 1;
		start();
		own->depth = 0;
		back_unlock(1);
	}
}

static void get_variables(void)
{
	if (variables_size && !get_bytes(line_to_broker, ep_variables, variables_size))
		lost();
}

void back_lock(void)
{
	struct request request = { .kind = LOCK };
	say(request, NULL, 0);
	stopped = hear_answer().result - 1;
	get_variables();
}

void back_stop(int how)
{
	struct request request = { .kind = STOP, .count = how };
	say(request, NULL, 0);
	hear_answer();
}

int back_stopped(void)
{
	return stopped;
}

void back_unlock(int change)
{
	struct request request = { .kind = UNLOCK, .changed = change };
	say(request, ep_variables, change ? variables_size : 0);
}

int back_wait(int change, long milliseconds, int ending)
{
	struct request request = { .kind = WAIT, .changed = change, .line = (int32_t) milliseconds, .count = ending };
	say(request, ep_variables, change ? variables_size : 0);
	request = hear_answer();
	stopped = request.result - 1;
	get_variables();
	return request.changed;
}

void back_answer(struct request *request)
{
	say(*request, NULL, 0);
	*request = hear_answer();
}

void back_close(void)
{
	close(line_to_broker);
	line_to_broker = -1;
}
