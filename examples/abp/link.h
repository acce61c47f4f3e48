/* The link of the alternating bit protocol: datagrams over the loopback interface, some of which are
 * lost and some damaged. Direction 0 is from A to B, direction 1 from B to A. */
#ifndef LINK_H
#define LINK_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { GOOD, DAMAGED, LATE, CLOSED };
enum { LINK_WAIT = 50 /* milliseconds until an answer is late */ };

struct datagram {
	unsigned char closing, alt, data, checksum;
};

static int link_sockets[2] = { -1, -1 };
static unsigned link_seed;

static int link_port(int direction)
{
	const char *base = getenv("LINK_PORT");
	return (base ? atoi(base) : 4670) + direction;
}

static struct sockaddr_in link_address(int direction)
{
	struct sockaddr_in address = { 0 };
	address.sin_family = AF_INET;
	address.sin_port = htons((unsigned short) link_port(direction));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static int link_fail(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

/* The socket on which a direction is received. */
static int link_inbox(int direction)
{
	struct sockaddr_in address = link_address(direction);
	if (link_sockets[direction] < 0) {
		link_sockets[direction] = socket(AF_INET, SOCK_DGRAM, 0);
		if (link_sockets[direction] < 0 || bind(link_sockets[direction], (struct sockaddr *) &address, sizeof address) < 0)
			link_fail("link");
	}
	return link_sockets[direction];
}

static unsigned char link_checksum(const struct datagram *d)
{
	return (unsigned char) (0x5a ^ d->closing * 31 ^ d->alt * 7 ^ d->data * 13);
}

static int link_chance(int per_cent)
{
	if (!link_seed)
		link_seed = (unsigned) getpid() * 2654435761u ^ (unsigned) time(NULL);
	return rand_r(&link_seed) % 100 < per_cent;
}

static void link_put(int direction, struct datagram d)
{
	static int outgoing = -1;
	const char *loss = getenv("EP_LOSS");
	int per_cent = loss ? atoi(loss) : 0;
	struct sockaddr_in address = link_address(direction);
	if (outgoing < 0)
		outgoing = socket(AF_INET, SOCK_DGRAM, 0);
	if (outgoing < 0)
		link_fail("link");
	d.checksum = link_checksum(&d);
	if (link_chance(per_cent))
		return;
	if (link_chance(per_cent))
		d.data ^= 1;
	/* A datagram for which no process waits is lost. */
	if (sendto(outgoing, &d, sizeof d, 0, (struct sockaddr *) &address, sizeof address) < 0)
		return;
}

static inline void link_send(int direction, int alt, int data)
{
	struct datagram d = { 0, (unsigned char) alt, (unsigned char) data, 0 };
	link_put(direction, d);
}

/* A waits for a while, B for ever. */
static inline int link_receive(int direction, int *alt, int *data)
{
	struct datagram d;
	int inbox = link_inbox(direction);
	/* Others go on meanwhile, if all processes are in one. */
	if (ep_ready(inbox, POLLIN, direction == 1 ? LINK_WAIT : -1) <= 0)
		return LATE;
	if (recv(inbox, &d, sizeof d, 0) != (ssize_t) sizeof d || d.checksum != link_checksum(&d))
		return DAMAGED;
	if (d.closing)
		return CLOSED;
	*alt = d.alt;
	if (data)
		*data = d.data;
	return GOOD;
}

static inline void link_close(void)
{
	struct datagram d = { 1, 0, 0, 0 };
	unsetenv("EP_LOSS");
	link_put(0, d);
}

#endif
