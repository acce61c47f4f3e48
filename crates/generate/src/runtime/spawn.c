/* A process of the model is a process of the system, with a program of its own. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "inside.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

long back_start(const char *word, const char *name, int count, const int *arguments, int number)
{
	char program[256], numbers[EP_FIELDS][16], given[16];
	char *argv[EP_FIELDS + 2];
	int gate[2];
	pid_t child;
	snprintf(program, sizeof program, "./%s", name);
	if (access(program, X_OK) < 0) {
		ep_complain(program);
		return -1;
	}
	argv[0] = program;
	for (int i = 0; i < count; i++) {
		snprintf(numbers[i], sizeof numbers[i], "%d", arguments[i]);
		argv[i + 1] = numbers[i];
	}
	argv[count + 1] = NULL;
	snprintf(given, sizeof given, "%d", number);
	if (pipe2(gate, O_CLOEXEC) < 0) {
		ep_complain("no process can be started");
		return -1;
	}
	child = fork();
	if (child == 0) {
		char go;
		/* The parent writes its line of the trace first, and ends the pipe with that. */
		close(gate[1]);
		if (read(gate[0], &go, 1) < 0)
			ep_complain(program);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		setenv("EP_NUMBER", given, 1);
		execv(program, argv);
		ep_complain(program);
		_exit(127);
	}
	if (child < 0)
		ep_complain("no process can be started");
	else
		announce(word, (long) child, name);
	close(gate[0]);
	close(gate[1]);
	return child;
}

void back_join(void)
{
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

void ep_leave(void)
{
	exit(ep_finish());
}

void ep_turn(void)
{
}

int ep_ready(int descriptor, short events, int milliseconds)
{
	struct pollfd wait = { descriptor, events, 0 };
	int ready;
	do
		ready = poll(&wait, 1, milliseconds);
	while (ready < 0 && errno == EINTR);
	return ready;
}
