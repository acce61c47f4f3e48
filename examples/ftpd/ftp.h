/* What the FTP server does with files and connections. The control is in ftpd.pch.
 *
 * Files are reached by openat2 with RESOLVE_IN_ROOT: no path and no symbolic link leads out of the
 * root. Settings are taken from the environment: FTP_PORT, FTP_ROOT, FTP_USERS (a file with lines
 * name:password), FTP_ANONYMOUS (1: anonymous users may read), FTP_ANONYMOUS_WRITES (1: and write),
 * FTP_SESSIONS (how many sessions there may be at a time), FTP_ADDRESS.
 */
#ifndef FTP_H
#define FTP_H

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FTP_CHUNK = 0x7ffff000 /* what one call may send */, FTP_LINE = 4096, FTP_IDLE = 300, FTP_CONNECT = 60 };
/* How a transfer ends; ftpd.pch has the same numbers. */
enum { FTP_DONE = 1, FTP_BROKEN, FTP_FAILED };

struct ftp {
	int control, data_listener, data, file, root, writes;
	DIR *folder;
	char line[FTP_LINE], name[16], argument[FTP_LINE], user[64], where[FTP_LINE], text[FTP_LINE + 64], prefix[FTP_LINE + 2];
	char buffer[FTP_LINE];
	int used, taken, command, logged_in, guest, again;
	struct sockaddr_in peer;
	int active;
	long long restart, size;
};

static inline const char *ftp_setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);
	return value ? value : otherwise;
}

/* Sessions that run. */
static volatile sig_atomic_t ftp_running;

static inline void ftp_ended(int number)
{
	int error = errno;
	(void) number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		ftp_running--;
	errno = error;
}

static inline int ftp_listen(void)
{
	struct sigaction ended = { .sa_handler = ftp_ended };
	struct sockaddr_in address = { 0 };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
	address.sin_family = AF_INET;
	address.sin_port = htons((unsigned short) atoi(ftp_setting("FTP_PORT", "2121")));
	address.sin_addr.s_addr = inet_addr(ftp_setting("FTP_ADDRESS", "127.0.0.1"));
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (listener < 0 || bind(listener, (struct sockaddr *) &address, sizeof address) < 0 || listen(listener, 1024) < 0) {
		perror("ftpd: listen");
		exit(EXIT_FAILURE);
	}
	sigaction(SIGCHLD, &ended, NULL);
	return listener;
}

/* The number of a connection is that of its descriptor, which the handler inherits. */
static inline int ftp_accept(int listener)
{
	int most = atoi(ftp_setting("FTP_SESSIONS", "250"));
	for (;;) {
		int control = accept(listener, NULL, NULL);
		if (control >= 0 && ftp_running < most)
			return control;
		if (control >= 0) {
			static const char full[] = "421 There are too many connected users, please try later.\r\n";
			if (write(control, full, sizeof full - 1) < 0)
				perror("ftpd: write");
			close(control);
		} else if (errno != EINTR && errno != ECONNABORTED) {
			/* Out of descriptors or memory: others must end first. */
			usleep(10000);
		}
	}
}

static inline void ftp_handed_over(int control)
{
	sigset_t child, before;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	ftp_running++;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(control);
}

static inline void ftp_begin(struct ftp *ftp, int control)
{
	struct timeval limit = { FTP_IDLE, 0 };
	int yes = 1;
	/* A session has no terminal, and the scheduler treats it as one of many. */
	setsid();
	memset(ftp, 0, sizeof *ftp);
	ftp->control = control;
	ftp->data = ftp->file = ftp->data_listener = -1;
	strcpy(ftp->where, "/");
	setsockopt(control, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(control, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	setsockopt(control, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	ftp->root = open(ftp_setting("FTP_ROOT", "."), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ftp->root < 0) {
		perror("ftpd: root");
		exit(EXIT_FAILURE);
	}
}

static inline int ftp_write(int to, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t written = send(to, text, length, MSG_NOSIGNAL);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return 0;
		text += written;
		length -= (size_t) written;
	}
	return 1;
}

static inline void ftp_say(struct ftp *ftp, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	vsnprintf(ftp->text, sizeof ftp->text, format, values);
	va_end(values);
}

/* The words of an answer; an action may have set its own. */
static inline const char *ftp_words(const struct ftp *ftp, int code)
{
	if (ftp->text[0])
		return ftp->text;
	switch (code) {
	case 200:
		return "NOOP ok.";
	case 215:
		return "UNIX Type: L8";
	case 220:
		return "(generated ftpd)";
	case 221:
		return "Goodbye.";
	case 225:
		return "No transfer to ABOR.";
	case 226:
		return "Transfer complete.";
	case 230:
		return ftp->command == 2 && ftp->again ? "Already logged in." : "Login successful.";
	case 331:
		return "Please specify the password.";
	case 425:
		return "Use PORT or PASV first.";
	case 426:
		return "Failure writing network stream.";
	case 451:
		return "Failure reading local file.";
	case 500:
		return "Unknown command.";
	case 501:
		return "Bad parameter.";
	case 503:
		return "Login with USER first.";
	case 530:
		return ftp->logged_in ? (ftp->guest ? "Can't change from guest user." : "Can't change to another user.") : ftp->command == 2 ? "Login incorrect." : "Please login with USER and PASS.";
	default:
		return "Failed.";
	}
}

static inline void ftp_reply(struct ftp *ftp, int code)
{
	char line[FTP_LINE + 80];
	if (code == 257 && ftp->command == 17)
		ftp_say(ftp, "\"%s\" is the current directory", ftp->where);
	int length = snprintf(line, sizeof line, "%d %s\r\n", code, ftp_words(ftp, code));
	ftp->text[0] = 0;
	if (length > 0)
		ftp_write(ftp->control, line, (size_t) length);
}

/* Numbers are those of `mtype:command`, which count from the last name. */
static inline int ftp_command(struct ftp *ftp)
{
	static const char *const names[] = { "USER", "PASS", "SYST", "QUIT", "PORT", "PASV", "EPSV", "TYPE", "MODE", "STRU", "RETR", "STOR",
		"NOOP", "LIST", "NLST", "CWD", "PWD", "DELE", "MKD", "RMD", "SIZE", "REST", "ABOR" };
	enum { KNOWN = sizeof names / sizeof names[0], OTHER_COMMAND = KNOWN + 1, GONE_COMMAND = KNOWN + 2 };
	int length = 0, too_long = 0;
	for (;;) {
		if (ftp->taken == ftp->used) {
			ssize_t got = recv(ftp->control, ftp->buffer, sizeof ftp->buffer, 0);
			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				return ftp->command = GONE_COMMAND;
			ftp->taken = 0;
			ftp->used = (int) got;
		}
		char c = ftp->buffer[ftp->taken++];
		if (c == '\n')
			break;
		/* Telnet's interrupt and synch before ABOR are no part of it. */
		if (c == '\r' || (unsigned char) c >= 0xf0 || c == 0)
			continue;
		if (length < FTP_LINE - 1)
			ftp->line[length++] = c;
		else
			too_long = 1;
	}
	ftp->line[length] = 0;
	char *space = strchr(ftp->line, ' ');
	if (space)
		*space = 0;
	snprintf(ftp->argument, sizeof ftp->argument, "%s", space ? space + 1 : "");
	const char *name = strcasecmp(ftp->line, "XPWD") == 0 ? "PWD" : ftp->line;
	if (strcasecmp(name, "CDUP") == 0) {
		name = "CWD";
		strcpy(ftp->argument, "..");
	}
	ftp->command = OTHER_COMMAND;
	for (int i = 0; i < KNOWN && !too_long; i++)
		if (strcasecmp(name, names[i]) == 0)
			ftp->command = i + 1;
	ftp->again = ftp->logged_in;
	if (ftp->command == 1 && !ftp->logged_in)
		snprintf(ftp->user, sizeof ftp->user, "%.60s", ftp->argument);
	return ftp->command;
}

static inline int ftp_password(struct ftp *ftp)
{
	char line[256], wanted[256];
	int found = 0;
	FILE *users;
	if (strcasecmp(ftp->user, "anonymous") == 0 || strcasecmp(ftp->user, "ftp") == 0) {
		ftp->writes = atoi(ftp_setting("FTP_ANONYMOUS_WRITES", "0"));
		ftp->guest = 1;
		return ftp->logged_in = atoi(ftp_setting("FTP_ANONYMOUS", "0")) != 0;
	}
	users = fopen(ftp_setting("FTP_USERS", "/nonexistent"), "re");
	snprintf(wanted, sizeof wanted, "%.60s:%.180s", ftp->user, ftp->argument);
	while (users && !found && fgets(line, sizeof line, users)) {
		line[strcspn(line, "\r\n")] = 0;
		found = strchr(line, ':') && strcmp(line, wanted) == 0;
	}
	if (users)
		fclose(users);
	ftp->writes = found;
	return ftp->logged_in = found;
}

static inline int ftp_type(struct ftp *ftp)
{
	char c = (char) toupper((unsigned char) ftp->argument[0]);
	/* Local bytes have eight bits or are refused. */
	int local = c == 'L' && (strcmp(ftp->argument + 1, " 8") == 0 || strcmp(ftp->argument + 1, "8") == 0);
	if (c != 'I' && c != 'A' && !local)
		return ftp_say(ftp, "Unrecognised TYPE command."), 0;
	ftp_say(ftp, c == 'A' ? "Switching to ASCII mode." : "Switching to Binary mode.");
	return 1;
}

static inline int ftp_mode(struct ftp *ftp)
{
	int good = toupper((unsigned char) ftp->argument[0]) == 'S' && !ftp->argument[1];
	ftp_say(ftp, good ? "Mode set to S." : "Bad MODE command.");
	return good;
}

static inline int ftp_structure(struct ftp *ftp)
{
	int good = toupper((unsigned char) ftp->argument[0]) == 'F' && !ftp->argument[1];
	ftp_say(ftp, good ? "Structure set to F." : "Bad STRU command.");
	return good;
}

/* The argument as a path from the root, without `.`, `..` and empty parts. */
static inline int ftp_path(const struct ftp *ftp, const char *given, char *out, size_t size)
{
	char all[2 * FTP_LINE], *part, *rest = NULL;
	size_t length = 0;
	snprintf(all, sizeof all, "%s/%s", given[0] == '/' ? "" : ftp->where, given);
	out[0] = 0;
	for (part = strtok_r(all, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		if (strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0) {
			char *last = strrchr(out, '/');
			if (last)
				*last = 0;
			length = strlen(out);
			continue;
		}
		if (length + strlen(part) + 2 > size)
			return 0;
		length += (size_t) snprintf(out + length, size - length, "/%s", part);
	}
	if (!out[0])
		strcpy(out, "/");
	return 1;
}

struct ftp_how {
	uint64_t flags, mode, resolve;
};

/* Opens a path inside the root, wherever symbolic links lead. */
static inline int ftp_inside(const struct ftp *ftp, const char *path, int flags, mode_t mode)
{
	enum { RESOLVE_IN_ROOT_ = 0x10, RESOLVE_NO_MAGICLINKS_ = 0x02 };
	struct ftp_how how = { (uint64_t) (flags | O_CLOEXEC), flags & O_CREAT ? mode : 0, RESOLVE_IN_ROOT_ | RESOLVE_NO_MAGICLINKS_ };
	return (int) syscall(437 /* openat2 */, ftp->root, path, &how, sizeof how);
}

/* The folder of a path, and the last part of it. */
static inline int ftp_parent(const struct ftp *ftp, char *path, const char **last)
{
	char *slash = strrchr(path, '/');
	if (!slash || !slash[1])
		return -1;
	*last = slash + 1;
	if (slash == path)
		return ftp_inside(ftp, "/", O_PATH | O_DIRECTORY, 0);
	*slash = 0;
	return ftp_inside(ftp, path, O_PATH | O_DIRECTORY, 0);
}

static inline int ftp_change(struct ftp *ftp)
{
	char path[FTP_LINE];
	int folder = ftp_path(ftp, ftp->argument, path, sizeof path) ? ftp_inside(ftp, path, O_PATH | O_DIRECTORY, 0) : -1;
	if (folder < 0)
		return ftp_say(ftp, "Failed to change directory."), 0;
	close(folder);
	strcpy(ftp->where, path);
	ftp_say(ftp, "Directory successfully changed.");
	return 1;
}

enum ftp_change { FTP_MAKE, FTP_REMOVE, FTP_DELETE };

static inline int ftp_alter(struct ftp *ftp, enum ftp_change what)
{
	char path[FTP_LINE], whole[FTP_LINE];
	const char *last = NULL;
	int folder, done;
	if (!ftp->writes)
		return ftp_say(ftp, "Permission denied."), 0;
	if (!ftp_path(ftp, ftp->argument, path, sizeof path))
		return 0;
	strcpy(whole, path);
	folder = ftp_parent(ftp, path, &last);
	done = folder >= 0
		&& (what == FTP_MAKE	       ? mkdirat(folder, last, 0777)
			: what == FTP_REMOVE ? unlinkat(folder, last, AT_REMOVEDIR)
					     : unlinkat(folder, last, 0))
			== 0;
	if (folder >= 0)
		close(folder);
	if (what == FTP_MAKE)
		done ? ftp_say(ftp, "\"%s\" created", whole) : ftp_say(ftp, "Create directory operation failed.");
	else
		ftp_say(ftp, "%s operation %s.", what == FTP_REMOVE ? "Remove directory" : "Delete", done ? "successful" : "failed");
	return done;
}

static inline int ftp_make(struct ftp *ftp)
{
	return ftp_alter(ftp, FTP_MAKE);
}

static inline int ftp_remove(struct ftp *ftp)
{
	return ftp_alter(ftp, FTP_REMOVE);
}

static inline int ftp_delete(struct ftp *ftp)
{
	return ftp_alter(ftp, FTP_DELETE);
}

static inline int ftp_size(struct ftp *ftp)
{
	char path[FTP_LINE];
	struct stat found;
	int file = ftp_path(ftp, ftp->argument, path, sizeof path) ? ftp_inside(ftp, path, O_RDONLY | O_NONBLOCK, 0) : -1;
	int good = file >= 0 && fstat(file, &found) == 0 && S_ISREG(found.st_mode);
	if (file >= 0)
		close(file);
	good ? ftp_say(ftp, "%lld", (long long) found.st_size) : ftp_say(ftp, "Could not get file size.");
	return good;
}

static inline int ftp_restart(struct ftp *ftp)
{
	char *end;
	long long at = strtoll(ftp->argument, &end, 10);
	if (end == ftp->argument || *end || at < 0)
		return 0;
	ftp->restart = at;
	ftp_say(ftp, "Restart position accepted (%lld).", at);
	return 1;
}

/* --- The data connection */

static inline void ftp_close(int *descriptor)
{
	if (*descriptor >= 0)
		close(*descriptor);
	*descriptor = -1;
}

static inline int ftp_port(struct ftp *ftp)
{
	unsigned n[6];
	struct sockaddr_in client;
	socklen_t size = sizeof client;
	ftp_close(&ftp->data_listener);
	ftp->active = 0;
	if (sscanf(ftp->argument, "%u,%u,%u,%u,%u,%u", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]) != 6)
		return ftp_say(ftp, "Illegal PORT command."), 0;
	for (int i = 0; i < 6; i++)
		if (n[i] > 255)
			return ftp_say(ftp, "Illegal PORT command."), 0;
	memset(&ftp->peer, 0, sizeof ftp->peer);
	ftp->peer.sin_family = AF_INET;
	ftp->peer.sin_addr.s_addr = htonl(n[0] << 24 | n[1] << 16 | n[2] << 8 | n[3]);
	ftp->peer.sin_port = htons((unsigned short) (n[4] << 8 | n[5]));
	/* Only to the client itself, and to no port of the system. */
	if (getpeername(ftp->control, (struct sockaddr *) &client, &size) < 0 || client.sin_addr.s_addr != ftp->peer.sin_addr.s_addr || n[4] < 4)
		return ftp_say(ftp, "Illegal PORT command."), 0;
	ftp->active = 1;
	ftp_say(ftp, "PORT command successful. Consider using PASV.");
	return 1;
}

static inline int ftp_passive(struct ftp *ftp)
{
	struct sockaddr_in own;
	socklen_t size = sizeof own;
	unsigned address, port;
	ftp_close(&ftp->data_listener);
	ftp->active = 0;
	if (getsockname(ftp->control, (struct sockaddr *) &own, &size) < 0)
		return 0;
	own.sin_port = 0;
	ftp->data_listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (ftp->data_listener < 0 || bind(ftp->data_listener, (struct sockaddr *) &own, size) < 0 || listen(ftp->data_listener, 1) < 0
		|| getsockname(ftp->data_listener, (struct sockaddr *) &own, &size) < 0) {
		ftp_close(&ftp->data_listener);
		return 0;
	}
	address = ntohl(own.sin_addr.s_addr);
	port = ntohs(own.sin_port);
	if (ftp->command == 7)
		ftp_say(ftp, "Entering Extended Passive Mode (|||%u|)", port);
	else
		ftp_say(ftp, "Entering Passive Mode (%u,%u,%u,%u,%u,%u).", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255, port >> 8, port & 255);
	return 1;
}

static inline int ftp_allowed(struct ftp *ftp)
{
	int allowed = ftp->command != 12 || ftp->writes;
	if (!allowed)
		ftp_say(ftp, "Permission denied.");
	return allowed;
}

/* Whether what was opened is below the root, as the system sees it. */
static inline int ftp_is_inside(const struct ftp *ftp)
{
	char link[64], root[FTP_LINE], found[FTP_LINE];
	int opened = ftp->folder ? dirfd(ftp->folder) : ftp->file;
	ssize_t length, whole;
	if (opened < 0)
		return 1;
	snprintf(link, sizeof link, "/proc/self/fd/%d", ftp->root);
	length = readlink(link, root, sizeof root);
	snprintf(link, sizeof link, "/proc/self/fd/%d", opened);
	whole = readlink(link, found, sizeof found);
	/* Without /proc nothing can be said. */
	if (length <= 0 || whole <= 0)
		return 1;
	if (length == 1)
		return found[0] == '/';
	return whole >= length && memcmp(root, found, (size_t) length) == 0 && (whole == length || found[length] == '/');
}

/* Opens what is to be transferred. */
static inline int ftp_open(struct ftp *ftp)
{
	char path[FTP_LINE];
	struct stat found;
	const char *argument = ftp->argument;
	int lists = ftp->command == 14 || ftp->command == 15, stores = ftp->command == 12;
	if (lists && argument[0] == '-')
		argument = strchr(argument, ' ') ? strchr(argument, ' ') + 1 : "";
	ftp->folder = NULL;
	ftp->prefix[0] = 0;
	if (lists && argument[0])
		snprintf(ftp->prefix, sizeof ftp->prefix, "%s%s", argument, argument[strlen(argument) - 1] == '/' ? "" : "/");
	if (!ftp_path(ftp, argument, path, sizeof path))
		return 0;
	if (stores)
		ftp->file = ftp_inside(ftp, path, O_WRONLY | O_CREAT | (ftp->restart ? 0 : O_TRUNC), 0666);
	else
		ftp->file = ftp_inside(ftp, path, lists ? O_RDONLY | O_DIRECTORY : O_RDONLY | O_NONBLOCK, 0);
	if (ftp->file >= 0 && (fstat(ftp->file, &found) < 0 || (!lists && !S_ISREG(found.st_mode))))
		ftp_close(&ftp->file);
	if (ftp->file < 0 && !lists)
		return ftp_say(ftp, stores ? "Could not create file." : "Failed to open file."), 0;
	if (ftp->file >= 0 && lists) {
		ftp->folder = fdopendir(ftp->file);
		ftp->file = -1;
	}
	if (ftp->restart && ftp->file >= 0)
		lseek(ftp->file, ftp->restart, SEEK_SET);
	ftp->size = lists || stores ? 0 : (long long) found.st_size;
	return 1;
}

static inline int ftp_reach(struct ftp *ftp)
{
	struct timeval limit = { FTP_IDLE, 0 };
	if (ftp->active) {
		struct timeval connecting = { FTP_CONNECT, 0 };
		ftp->data = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(ftp->data, SOL_SOCKET, SO_SNDTIMEO, &connecting, sizeof connecting);
		if (ftp->data < 0 || connect(ftp->data, (struct sockaddr *) &ftp->peer, sizeof ftp->peer) < 0)
			return 0;
	} else {
		/* A client that is gone will not connect. */
		struct pollfd wait[] = { { ftp->data_listener, POLLIN, 0 }, { ftp->control, POLLRDHUP, 0 } };
		struct sockaddr_in client, from;
		socklen_t size = sizeof client;
		while (poll(wait, 2, FTP_CONNECT * 1000) < 0 && errno == EINTR)
			;
		if (!(wait[0].revents & POLLIN))
			return 0;
		ftp->data = accept4(ftp->data_listener, (struct sockaddr *) &from, &size, SOCK_CLOEXEC);
		size = sizeof client;
		/* Nobody else may take the file. */
		if (ftp->data < 0 || getpeername(ftp->control, (struct sockaddr *) &client, &size) < 0 || client.sin_addr.s_addr != from.sin_addr.s_addr)
			return 0;
	}
	setsockopt(ftp->data, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(ftp->data, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	return 1;
}

static inline int ftp_connect(struct ftp *ftp)
{
	if (!ftp_reach(ftp))
		return ftp_say(ftp, "Failed to establish connection."), 0;
	if (ftp->command == 14 || ftp->command == 15)
		ftp_say(ftp, "Here comes the directory listing.");
	else if (ftp->command == 12)
		ftp_say(ftp, "Ok to send data.");
	else
		ftp_say(ftp, "Opening BINARY mode data connection for %.2000s (%lld bytes).", ftp->argument, ftp->size);
	return 1;
}

static inline int ftp_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

static inline int ftp_list(struct ftp *ftp)
{
	char **names = NULL;
	size_t count = 0, room = 0;
	int good = 1;
	struct dirent *entry;
	time_t now = time(NULL);
	while (ftp->folder && (entry = readdir(ftp->folder))) {
		if (entry->d_name[0] == '.')
			continue;
		if (count == room) {
			char **more = realloc(names, (room = room ? 2 * room : 64) * sizeof *names);
			if (!more)
				break;
			names = more;
		}
		if (!(names[count] = strdup(entry->d_name)))
			break;
		count++;
	}
	if (names)
		qsort(names, count, sizeof *names, ftp_compare);
	for (size_t i = 0; i < count; i++) {
		char line[FTP_LINE], when[32], rights[11] = "----------";
		struct stat found;
		struct tm date;
		int length;
		if (good && ftp->command == 15) {
			length = snprintf(line, sizeof line, "%s%s\r\n", ftp->prefix, names[i]);
			if (length >= (int) sizeof line)
				length = (int) sizeof line - 1;
			good = ftp_write(ftp->data, line, (size_t) length);
		} else if (good && fstatat(dirfd(ftp->folder), names[i], &found, AT_SYMLINK_NOFOLLOW) == 0) {
			rights[0] = S_ISDIR(found.st_mode) ? 'd' : S_ISLNK(found.st_mode) ? 'l' : '-';
			for (int b = 0; b < 9; b++)
				if (found.st_mode & (0400 >> b))
					rights[b + 1] = "rwx"[b % 3];
			gmtime_r(&found.st_mtime, &date);
			strftime(when, sizeof when, now - found.st_mtime > 180 * 86400 ? "%b %d  %Y" : "%b %d %H:%M", &date);
			length = snprintf(line, sizeof line, "%s%5lu %-8u %-8u %8lld %s %s\r\n", rights, (unsigned long) found.st_nlink, found.st_uid,
				found.st_gid, (long long) found.st_size, when, names[i]);
			good = ftp_write(ftp->data, line, (size_t) length);
		}
		free(names[i]);
	}
	free(names);
	ftp_say(ftp, "Directory send OK.");
	return good;
}

/* A file to the client. The system copies it; without help of the system it is read and written. */
static inline int ftp_send_file(struct ftp *ftp)
{
	static char block[1 << 16];
	int copies = 1;
	off_t before = lseek(ftp->file, 0, SEEK_CUR);
	for (;;) {
		ssize_t got = copies ? sendfile(ftp->data, ftp->file, NULL, FTP_CHUNK) : read(ftp->file, block, sizeof block);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && copies && (errno == EINVAL || errno == ENOSYS) && lseek(ftp->file, 0, SEEK_CUR) == before) {
			copies = 0;
			continue;
		}
		if (got < 0)
			return !copies || errno == EIO ? FTP_FAILED : FTP_BROKEN;
		if (got == 0)
			break;
		if (!copies && !ftp_write(ftp->data, block, (size_t) got))
			return FTP_BROKEN;
	}
	return FTP_DONE;
}

/* A file from the client. */
static inline int ftp_receive_file(struct ftp *ftp)
{
	static char block[1 << 18];
	ssize_t got;
	while ((got = recv(ftp->data, block, sizeof block, 0)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return ftp_say(ftp, "Failure reading network stream."), FTP_BROKEN;
		for (ssize_t put = 0; put < got;) {
			ssize_t now = write(ftp->file, block + put, (size_t) (got - put));
			if (now < 0 && errno == EINTR)
				continue;
			if (now <= 0)
				return ftp_say(ftp, "Failure writing to local file."), FTP_FAILED;
			put += now;
		}
	}
	return FTP_DONE;
}

static inline int ftp_transfer(struct ftp *ftp)
{
	if (ftp->command == 14 || ftp->command == 15)
		return ftp_list(ftp) ? FTP_DONE : FTP_BROKEN;
	return ftp->command == 11 ? ftp_send_file(ftp) : ftp_receive_file(ftp);
}

static inline void ftp_disconnect(struct ftp *ftp)
{
	ftp_close(&ftp->data);
	ftp_close(&ftp->data_listener);
	ftp_close(&ftp->file);
	if (ftp->folder)
		closedir(ftp->folder);
	ftp->folder = NULL;
	ftp->active = 0;
	ftp->restart = 0;
}

static inline void ftp_end(struct ftp *ftp)
{
	ftp_disconnect(ftp);
	ftp_close(&ftp->control);
	ftp_close(&ftp->root);
}

#endif
