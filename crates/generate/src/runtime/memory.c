/* The shared state in a segment of shared memory, for processes of one machine. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "inside.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

struct shared {
	int ready;
	/* Why everybody stops; how many wait without a limit since the last change, and how many of
	 * these are where the model may end. */
	int stop, waiting, ending;
	unsigned long changes;
	pthread_mutex_t lock;
	pthread_cond_t change;
};

static struct shared *shared;
static struct state *state;
static const char *segment;
static int creator;

static void end_by(int number)
{
	shm_unlink(segment);
	state_close(state);
	signal(number, SIG_DFL);
	raise(number);
}

static void make(void (*start)(void))
{
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
	/* Nothing stays behind when the program is stopped. */
	signal(SIGINT, end_by);
	signal(SIGTERM, end_by);
}

void back_open(size_t size, void (*start)(void))
{
	size_t head = (sizeof(struct shared) + 63) / 64 * 64, middle = (state_size() + 63) / 64 * 64, whole = head + middle + size;
	char name[64];
	char *place;
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
		fail("no shared memory");
	if (creator && ftruncate(fd, (off_t) whole) < 0)
		fail("no shared memory of this size");
	if (!creator) {
		struct stat found = { 0 };
		while (fstat(fd, &found) == 0 && (size_t) found.st_size < whole)
			usleep(1000);
	}
	place = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (place == MAP_FAILED)
		fail("no shared memory");
	shared = (struct shared *) place;
	state = (struct state *) (place + head);
	ep_variables = place + head + middle;
	if (creator)
		make(start);
	else
		while (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE))
			usleep(1000);
}

void back_lock(void)
{
	if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD)
		/* A process died in the middle of a step. What it wrote stays. */
		pthread_mutex_consistent(&shared->lock);
}

static void wake(void)
{
	shared->changes++;
	shared->waiting = shared->ending = 0;
	pthread_cond_broadcast(&shared->change);
}

void back_unlock(int changed)
{
	if (changed)
		wake();
	pthread_mutex_unlock(&shared->lock);
}

void back_stop(int how)
{
	if (!shared->stop)
		shared->stop = how;
	wake();
}

int back_stopped(void)
{
	return shared->stop;
}

int back_wait(int changed, long milliseconds, int ending)
{
	struct timespec limit;
	unsigned long changes;
	int result, counted = milliseconds < 0;
	if (changed)
		wake();
	shared->waiting += counted;
	shared->ending += counted && ending;
	if (counted && state_whole(state) && shared->waiting == state_alive(state)) {
		int how = shared->ending == shared->waiting ? STOP_END : STOP_FAILURE;
		errno = 0;
		if (how == STOP_FAILURE)
			ep_complain("every process waits for another one");
		back_stop(how);
		return 0;
	}
	changes = shared->changes;
	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_sec += milliseconds / 1000;
	limit.tv_nsec += milliseconds % 1000 * 1000000;
	if (limit.tv_nsec >= 1000000000) {
		limit.tv_sec++;
		limit.tv_nsec -= 1000000000;
	}
	result = milliseconds < 0 ? pthread_cond_wait(&shared->change, &shared->lock)
				  : pthread_cond_timedwait(&shared->change, &shared->lock, &limit);
	if (result == EOWNERDEAD)
		pthread_mutex_consistent(&shared->lock);
	/* It may wake up without a reason. */
	if (counted && shared->changes == changes) {
		shared->waiting--;
		shared->ending -= ending;
	}
	return result == ETIMEDOUT;
}

void back_answer(struct request *request)
{
	state_answer(state, request);
}

void back_close(void)
{
	if (creator) {
		shm_unlink(segment);
		state_close(state);
	}
}
