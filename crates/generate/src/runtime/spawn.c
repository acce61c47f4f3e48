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

/* The processes that this one has started and that have not been seen to end. */
struct child {
	pid_t process;
	int number;
	char name[64];
};

static struct child *children;
static size_t child_count, child_room;
static int failed;

/* A process has ended: whoever was killed has failed, and has not said so. */
static void ended(size_t which, int status)
{
	struct child child = children[which];
	children[which] = children[--child_count];
	if (WIFSIGNALED(status)) {
		char text[160];
		snprintf(text, sizeof text, "%s ended: %s", child.name, strsignal(WTERMSIG(status)));
		errno = 0;
		ep_complain(text);
		/* It could not write this line itself. */
		snprintf(text, sizeof text, "fail %ld 0 0\n", (long) child.process);
		write_trace(text);
		failed = 1;
		gone(child.number);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) != EXIT_SUCCESS) {
		failed = 1;
		/* A piece of C, or what checks it, has ended the process: the others would wait for it. A
		   process that stops because the program ends has another status. */
		if (!known_to_stop() || WEXITSTATUS(status) != EXIT_FAILURE) {
			char text[160];
			snprintf(text, sizeof text, "%s ended: exit status %d", child.name, WEXITSTATUS(status));
			errno = 0;
			ep_complain(text);
			snprintf(text, sizeof text, "fail %ld 0 0\n", (long) child.process);
			write_trace(text);
			gone(child.number);
		}
	}
}

/* Those that have ended are not kept by the system, however long the program runs. */
static void reap(void)
{
	for (size_t i = child_count; i-- > 0;) {
		int status;
		pid_t process = waitpid(children[i].process, &status, WNOHANG);
		/* A piece of C may have asked for it already. */
		if (process != 0)
			ended(i, process > 0 ? status : 0);
	}
}

/* The programs are in one folder, wherever they are started. */
static const char *folder(void)
{
	static char path[512];
	if (!path[0]) {
		ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
		char *slash;
		path[length > 0 ? length : 0] = 0;
		slash = strrchr(path, '/');
		if (slash)
			*slash = 0;
		else
			snprintf(path, sizeof path, ".");
	}
	return path;
}

long back_start(const char *word, const char *name, int count, const int *arguments, int number)
{
	char program[768], numbers[EP_FIELDS][16], given[16];
	char *argv[EP_FIELDS + 2];
	int gate[2];
	pid_t child;
	reap();
	snprintf(program, sizeof program, "%s/%s", folder(), name);
	if (access(program, X_OK) < 0) {
		ep_complain(program);
		failed = 1;
		return -1;
	}
	if (child_count == child_room) {
		size_t room = child_room ? 2 * child_room : 16;
		struct child *more = realloc(children, room * sizeof *more);
		if (!more) {
			ep_complain("no process can be started");
			return -1;
		}
		children = more;
		child_room = room;
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
	else {
		children[child_count] = (struct child) { .process = child, .number = number };
		snprintf(children[child_count++].name, sizeof children[0].name, "%s", name);
		announce(word, (long) child, name);
	}
	close(gate[0]);
	close(gate[1]);
	return child;
}

void back_at_exit(void (*left)(void))
{
	atexit(left);
}

int back_join(void)
{
	int status;
	pid_t process;
	while ((process = wait(&status)) > 0 || errno == EINTR)
		for (size_t i = 0; process > 0 && i < child_count; i++)
			if (children[i].process == process)
				ended(i, status);
	return failed;
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
