/* What the FTP server does with files and connections. The control is in ftpd.pch.
 *
 * Files are reached by openat2 with RESOLVE_IN_ROOT: no path and no symbolic link leads out of the
 * root. Settings are taken from the environment: FTP_PORT, FTP_ROOT, FTP_USERS (a file with lines
 * name:password), FTP_ANONYMOUS (1: anonymous users may read), FTP_ANONYMOUS_WRITES (1: and write),
 * FTP_SESSIONS (how many sessions there may be at a time), FTP_PER_ADDRESS (and from one address),
 * FTP_LOGIN, FTP_IDLE and FTP_CONNECT (seconds until somebody has logged in, for each command, and for
 * a data connection), FTP_ADDRESS.
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

enum { FTP_CHUNK = 0x7ffff000 /* what one call may send */, FTP_LINE = 4096, FTP_TRIES = 3 /* passwords */, FTP_SESSIONS_MAX = 1000 };
/* How a transfer ends; ftpd.pch has the same numbers. */
enum { FTP_DONE = 1, FTP_BROKEN, FTP_FAILED, FTP_ABORTED };

struct ftp {
	int control, data_listener, data, file, root, writes;
	DIR *folder;
	char line[FTP_LINE], argument[FTP_LINE], user[64], where[FTP_LINE], text[FTP_LINE + 64], prefix[FTP_LINE + 2];
	char pattern[FTP_LINE], buffer[FTP_LINE];
	int used, taken, command, logged_in, guest, again, tries;
	/* The type and the structure of what is transferred. */
	int ascii, records;
	/* In a transfer: bytes of an end of line or a mark that was begun, whether the last mark has
	 * come, whether the client says nothing more that matters, whether it has sent ABOR. */
	int held, ended, deaf, aborted;
	long long begun;
	struct sockaddr_in peer;
	int active;
	long long restart, size;
};

static inline const char *ftp_setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);
	return value ? value : otherwise;
}

static inline int ftp_number(const char *name, int otherwise)
{
	int value = atoi(ftp_setting(name, "0"));
	return value > 0 && value < 1000000 ? value : otherwise;
}

/* Milliseconds of a clock that nobody sets. */
static inline long long ftp_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* --- The listener */

/* A session: a pipe that ends with its process, however that ends, and where the client is. */
struct ftp_guest {
	int life;
	in_addr_t address;
};

static struct ftp_guest ftp_guests[FTP_SESSIONS_MAX];
static int ftp_guest_count, ftp_life[2] = { -1, -1 };
static in_addr_t ftp_address;

/* A session that crashes is no matter of the others. */
static inline void ftp_ended(int number)
{
	int error = errno;
	(void) number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	errno = error;
}

static inline int ftp_listen(void)
{
	struct sigaction ended = { .sa_handler = ftp_ended };
	struct sockaddr_in address = { 0 };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
	address.sin_family = AF_INET;
	address.sin_port = htons((unsigned short) atoi(ftp_setting("FTP_PORT", "2121")));
	address.sin_addr.s_addr = inet_addr(ftp_setting("FTP_ADDRESS", "127.0.0.1"));
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (listener < 0 || bind(listener, (struct sockaddr *) &address, sizeof address) < 0 || listen(listener, 1024) < 0) {
		perror("ftpd: listen");
		exit(EXIT_FAILURE);
	}
	/* ftp_is_inside asks the system by it. */
	if (access("/proc/self/fd", X_OK) < 0) {
		perror("ftpd: /proc/self/fd");
		exit(EXIT_FAILURE);
	}
	sigaction(SIGCHLD, &ended, NULL);
	return listener;
}

static inline void ftp_refuse(int control, const char *why)
{
	if (send(control, why, strlen(why), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		perror("ftpd: send");
	close(control);
}

/* The number of a connection is that of its descriptor, which the handler inherits. */
static inline int ftp_accept(int listener)
{
	static struct pollfd wait[1 + FTP_SESSIONS_MAX];
	int most = ftp_number("FTP_SESSIONS", 250), each = ftp_number("FTP_PER_ADDRESS", 50);
	for (;;) {
		struct sockaddr_in from;
		socklen_t size = sizeof from;
		int control, same = 0;
		wait[0] = (struct pollfd) { listener, POLLIN, 0 };
		for (int i = 0; i < ftp_guest_count; i++)
			wait[i + 1] = (struct pollfd) { ftp_guests[i].life, 0, 0 };
		if (poll(wait, (nfds_t) ftp_guest_count + 1, -1) < 0)
			continue;
		for (int i = ftp_guest_count; i-- > 0;)
			if (wait[i + 1].revents) {
				close(ftp_guests[i].life);
				ftp_guests[i] = ftp_guests[--ftp_guest_count];
			}
		if (!wait[0].revents)
			continue;
		control = accept(listener, (struct sockaddr *) &from, &size);
		if (control < 0) {
			/* Out of descriptors or memory: others must end first. */
			if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN)
				usleep(10000);
			continue;
		}
		for (int i = 0; i < ftp_guest_count; i++)
			same += ftp_guests[i].address == from.sin_addr.s_addr;
		ftp_address = from.sin_addr.s_addr;
		if (ftp_guest_count >= most || ftp_guest_count >= FTP_SESSIONS_MAX)
			ftp_refuse(control, "421 There are too many connected users, please try later.\r\n");
		else if (same >= each)
			ftp_refuse(control, "421 There are too many connections from your internet address.\r\n");
		else
			return control;
	}
}

/* The handler that is started next keeps this end of the pipe open as long as it exists. */
static inline int ftp_prepare(void)
{
	if (pipe2(ftp_life, O_CLOEXEC) < 0) {
		ftp_life[0] = ftp_life[1] = -1;
		return 0;
	}
	return fcntl(ftp_life[1], F_SETFD, 0) == 0;
}

/* `handler` is the process that was started for a connection, or 0 if that was not possible. */
static inline void ftp_hand_over(int control, int handler)
{
	if (ftp_life[1] >= 0)
		close(ftp_life[1]);
	if (handler > 0) {
		ftp_guests[ftp_guest_count++] = (struct ftp_guest) { ftp_life[0], ftp_address };
		close(control);
	} else {
		if (ftp_life[0] >= 0)
			close(ftp_life[0]);
		ftp_refuse(control, "421 There is no room for another session, please try later.\r\n");
	}
	ftp_life[0] = ftp_life[1] = -1;
}

/* --- Sessions */

static inline void ftp_begin(struct ftp *ftp, int control)
{
	struct timeval limit = { ftp_number("FTP_IDLE", 300), 0 };
	int yes = 1;
	/* A session has no terminal, and the scheduler treats it as one of many. */
	setsid();
	memset(ftp, 0, sizeof *ftp);
	ftp->control = control;
	ftp->data = ftp->file = ftp->data_listener = -1;
	strcpy(ftp->where, "/");
	ftp->begun = ftp_now();
	/* The defaults of RFC 959. */
	ftp->ascii = 1;
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
		return ftp->aborted ? "ABOR successful." : "Transfer complete.";
	case 230:
		return ftp->command == 2 && ftp->again ? "Already logged in." : "Login successful.";
	case 331:
		return "Please specify the password.";
	case 421:
		return "Timeout.";
	case 425:
		return "Use PORT or PASV first.";
	case 426:
		return ftp->aborted ? "Transfer aborted." : "Failure writing network stream.";
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
	enum { KNOWN = sizeof names / sizeof names[0], OTHER_COMMAND = KNOWN + 1, GONE_COMMAND, IDLE_COMMAND };
	int length = 0, too_long = 0;
	/* A line has a limit, however slowly it comes, and so has all that is before the login. */
	long long end = ftp_now() + 1000LL * ftp_number("FTP_IDLE", 300), login = ftp->begun + 1000LL * ftp_number("FTP_LOGIN", 30);
	if (!ftp->logged_in && login < end)
		end = login;
	for (;;) {
		if (ftp->taken == ftp->used) {
			struct pollfd wait = { ftp->control, POLLIN, 0 };
			long long rest = end - ftp_now();
			if (rest <= 0)
				return ftp->command = IDLE_COMMAND;
			if (poll(&wait, 1, (int) rest) <= 0)
				continue;
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

/* Guessing takes time, and a session has few guesses. */
static inline int ftp_wrong_password(struct ftp *ftp)
{
	ftp->tries++;
	sleep(1);
	return 0;
}

static inline int ftp_may_try(const struct ftp *ftp)
{
	return ftp->tries < FTP_TRIES;
}

static inline int ftp_password(struct ftp *ftp)
{
	char line[256], wanted[256];
	int found = 0;
	FILE *users;
	if (strcasecmp(ftp->user, "anonymous") == 0 || strcasecmp(ftp->user, "ftp") == 0) {
		ftp->writes = atoi(ftp_setting("FTP_ANONYMOUS_WRITES", "0"));
		ftp->guest = 1;
		ftp->logged_in = atoi(ftp_setting("FTP_ANONYMOUS", "0")) != 0;
		return ftp->logged_in || ftp_wrong_password(ftp);
	}
	users = fopen(ftp_setting("FTP_USERS", "/nonexistent"), "re");
	snprintf(wanted, sizeof wanted, "%.60s:%.180s", ftp->user, ftp->argument);
	while (users && !found && fgets(line, sizeof line, users)) {
		line[strcspn(line, "\r\n")] = 0;
		found = strchr(line, ':') && strcmp(line, wanted) == 0;
	}
	if (users)
		fclose(users);
	ftp->guest = 0;
	ftp->writes = ftp->logged_in = found;
	return found || ftp_wrong_password(ftp);
}

static inline int ftp_type(struct ftp *ftp)
{
	char c = (char) toupper((unsigned char) ftp->argument[0]);
	/* Local bytes have eight bits or are refused. */
	int local = c == 'L' && (strcmp(ftp->argument + 1, " 8") == 0 || strcmp(ftp->argument + 1, "8") == 0);
	if (c != 'I' && c != 'A' && !local)
		return ftp_say(ftp, "Unrecognised TYPE command."), 0;
	ftp->ascii = c == 'A';
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
	int c = toupper((unsigned char) ftp->argument[0]), good = (c == 'F' || c == 'R') && !ftp->argument[1];
	if (!good)
		return ftp_say(ftp, "Bad STRU command."), 0;
	ftp->records = c == 'R';
	ftp_say(ftp, "Structure set to %c.", c);
	return 1;
}

/* The argument as a path from the root, without `.`, `..` and empty parts. */
static inline int ftp_path(const struct ftp *ftp, const char *given, char *out, size_t size)
{
	char all[2 * FTP_LINE + 4], *part, *rest = NULL;
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
	/* What cannot be known is not so. */
	if (length <= 0 || whole <= 0)
		return 0;
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
	ftp->pattern[0] = 0;
	if (!ftp_path(ftp, argument, path, sizeof path))
		return 0;
	if (stores)
		ftp->file = ftp_inside(ftp, path, O_WRONLY | O_CREAT | (ftp->restart ? 0 : O_TRUNC), 0666);
	else
		ftp->file = ftp_inside(ftp, path, lists ? O_RDONLY | O_DIRECTORY : O_RDONLY | O_NONBLOCK, 0);
	if (lists && ftp->file < 0 && argument[0]) {
		/* It may be a file, or a pattern for files in a folder. */
		const char *slash = strrchr(argument, '/');
		int length = slash ? (int) (slash - argument) + 1 : 0;
		snprintf(ftp->pattern, sizeof ftp->pattern, "%s", argument + length);
		snprintf(ftp->prefix, sizeof ftp->prefix, "%.*s", length, argument);
		if (ftp->pattern[0] && ftp_path(ftp, ftp->prefix, path, sizeof path))
			ftp->file = ftp_inside(ftp, path, O_RDONLY | O_DIRECTORY, 0);
	}
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
	if (ftp->active) {
		struct timeval connecting = { ftp_number("FTP_CONNECT", 60), 0 };
		ftp->data = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(ftp->data, SOL_SOCKET, SO_SNDTIMEO, &connecting, sizeof connecting);
		if (ftp->data < 0 || connect(ftp->data, (struct sockaddr *) &ftp->peer, sizeof ftp->peer) < 0)
			return 0;
	} else {
		/* A client that is gone will not connect. */
		struct pollfd wait[] = { { ftp->data_listener, POLLIN, 0 }, { ftp->control, POLLRDHUP, 0 } };
		struct sockaddr_in client, from;
		socklen_t size = sizeof client;
		while (poll(wait, 2, 1000 * ftp_number("FTP_CONNECT", 60)) < 0 && errno == EINTR)
			;
		if (!(wait[0].revents & POLLIN))
			return 0;
		ftp->data = accept4(ftp->data_listener, (struct sockaddr *) &from, &size, SOCK_CLOEXEC);
		size = sizeof client;
		/* Nobody else may take the file. */
		if (ftp->data < 0 || getpeername(ftp->control, (struct sockaddr *) &client, &size) < 0 || client.sin_addr.s_addr != from.sin_addr.s_addr)
			return 0;
	}
	return fcntl(ftp->data, F_SETFL, O_NONBLOCK) == 0;
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
		ftp_say(ftp, "Opening %s mode data connection for %.2000s (%lld bytes).", ftp->ascii ? "ASCII" : "BINARY", ftp->argument, ftp->size);
	return 1;
}

/* --- Transfers. While one goes on, the client may send ABOR. */

/* Whether the next command is ABOR, which is then taken. Another one waits until the transfer has
 * ended. */
static inline int ftp_is_aborted(struct ftp *ftp)
{
	static const char name[] = "ABOR";
	size_t seen = 0;
	int good = 1;
	memmove(ftp->buffer, ftp->buffer + ftp->taken, (size_t) (ftp->used - ftp->taken));
	ftp->used -= ftp->taken;
	ftp->taken = 0;
	if (ftp->used < (int) sizeof ftp->buffer) {
		ssize_t got = recv(ftp->control, ftp->buffer + ftp->used, sizeof ftp->buffer - (size_t) ftp->used, MSG_DONTWAIT);
		if (got > 0)
			ftp->used += (int) got;
		else if (got == 0 || (errno != EAGAIN && errno != EINTR))
			ftp->deaf = 1;
	}
	for (int i = 0; i < ftp->used; i++) {
		unsigned char c = (unsigned char) ftp->buffer[i];
		if (c == '\n') {
			ftp->aborted = good && seen == sizeof name - 1;
			ftp->deaf = 1;
			if (ftp->aborted)
				ftp->taken = i + 1;
			return ftp->aborted;
		}
		if (c == '\r' || c == 0 || c >= 0xf0)
			continue;
		good = good && seen < sizeof name - 1 && toupper(c) == name[seen];
		seen++;
	}
	ftp->deaf |= !good || ftp->used == (int) sizeof ftp->buffer;
	return 0;
}

/* Waits until the data connection is ready: 0, or how the transfer ends otherwise. */
static inline int ftp_await(struct ftp *ftp, short events)
{
	for (;;) {
		struct pollfd wait[] = { { ftp->data, events, 0 }, { ftp->control, ftp->deaf ? 0 : POLLIN, 0 } };
		int ready = poll(wait, 2, 1000 * ftp_number("FTP_IDLE", 300));
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return FTP_BROKEN;
		if (wait[1].revents & POLLIN && ftp_is_aborted(ftp))
			return FTP_ABORTED;
		if (wait[1].revents & (POLLERR | POLLHUP | POLLNVAL))
			return FTP_BROKEN;
		if (wait[0].revents)
			return 0;
	}
}

/* Bytes to the client: 0, or how the transfer ends. */
static inline int ftp_put(struct ftp *ftp, const char *bytes, size_t length)
{
	while (length > 0) {
		int end = ftp_await(ftp, POLLOUT);
		ssize_t put = end ? 0 : send(ftp->data, bytes, length, MSG_NOSIGNAL);
		if (end)
			return end;
		if (put < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (put <= 0)
			return FTP_BROKEN;
		bytes += put;
		length -= (size_t) put;
	}
	return 0;
}

/* Whether a name fits a pattern with `*` and `?`. The time is at most the product of their lengths,
 * because only the last star is tried again. */
static inline int ftp_fits(const char *pattern, const char *name)
{
	const char *star = NULL, *from = NULL;
	if (name[0] == '.' && pattern[0] != '.')
		return 0;
	while (*name) {
		if (*pattern == '*') {
			star = ++pattern;
			from = name;
		} else if (*pattern == '?' || *pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++from;
		} else
			return 0;
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static inline int ftp_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* A line of a listing; nothing if the file is gone. */
static inline int ftp_entry(const struct ftp *ftp, const char *name, char *line, size_t size)
{
	char when[32], rights[11] = "----------";
	struct stat found;
	struct tm date;
	if (ftp->command == 15)
		return snprintf(line, size, "%s%s\r\n", ftp->prefix, name);
	if (fstatat(dirfd(ftp->folder), name, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	rights[0] = S_ISDIR(found.st_mode) ? 'd' : S_ISLNK(found.st_mode) ? 'l' : '-';
	for (int b = 0; b < 9; b++)
		if (found.st_mode & (0400 >> b))
			rights[b + 1] = "rwx"[b % 3];
	gmtime_r(&found.st_mtime, &date);
	strftime(when, sizeof when, time(NULL) - found.st_mtime > 180 * 86400 ? "%b %d  %Y" : "%b %d %H:%M", &date);
	return snprintf(line, size, "%s%5lu %-8u %-8u %8lld %s %s\r\n", rights, (unsigned long) found.st_nlink, found.st_uid, found.st_gid,
		(long long) found.st_size, when, name);
}

static inline int ftp_list(struct ftp *ftp)
{
	static char block[1 << 16];
	char **names = NULL;
	size_t count = 0, room = 0, used = 0;
	int end = 0;
	struct dirent *entry;
	while (ftp->folder && (entry = readdir(ftp->folder))) {
		if (ftp->pattern[0] ? !ftp_fits(ftp->pattern, entry->d_name) : entry->d_name[0] == '.')
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
		char line[2 * FTP_LINE];
		int length = end ? 0 : ftp_entry(ftp, names[i], line, sizeof line);
		if (length > 0 && length < (int) sizeof line) {
			if (used + (size_t) length > sizeof block) {
				end = ftp_put(ftp, block, used);
				used = 0;
			}
			memcpy(block + used, line, (size_t) length);
			used += (size_t) length;
		}
		free(names[i]);
	}
	free(names);
	if (!end)
		end = ftp_put(ftp, block, used);
	if (!end)
		ftp_say(ftp, "Directory send OK.");
	return end ? end : FTP_DONE;
}

/* Bytes of a file as they are transferred: at most twice as many. In text, lines end as on the
 * network; with records, the end of a line is the end of a record. */
static inline size_t ftp_encode(const struct ftp *ftp, const char *from, size_t count, char *to)
{
	size_t length = 0;
	for (size_t i = 0; i < count; i++) {
		if (from[i] == '\n' && ftp->ascii) {
			to[length++] = ftp->records ? '\377' : '\r';
			to[length++] = ftp->records ? 1 : '\n';
			continue;
		}
		if (from[i] == '\377' && ftp->records)
			to[length++] = '\377';
		to[length++] = from[i];
	}
	return length;
}

/* The reverse: at most one byte more, which was held back before. */
static inline size_t ftp_decode(struct ftp *ftp, const char *from, size_t count, char *to)
{
	size_t length = 0;
	for (size_t i = 0; i < count && !ftp->ended; i++) {
		char c = from[i];
		int held = ftp->held;
		ftp->held = 0;
		if (held == 0xff) {
			/* The end of a record, of the file, of both, or the byte itself. */
			if ((c == 1 || c == 3) && ftp->ascii)
				to[length++] = '\n';
			ftp->ended = c == 2 || c == 3;
			if (c == '\377')
				to[length++] = c;
			continue;
		}
		if (held == '\r' && c != '\n')
			to[length++] = '\r';
		if (ftp->records && c == '\377')
			ftp->held = 0xff;
		else if (ftp->ascii && !ftp->records && c == '\r')
			ftp->held = '\r';
		else
			to[length++] = c;
	}
	return length;
}

/* A file to the client, read and written. */
static inline int ftp_send_copied(struct ftp *ftp)
{
	static char block[1 << 16], coded[1 << 17];
	for (;;) {
		ssize_t got = read(ftp->file, block, sizeof block);
		int end;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return FTP_FAILED;
		if (got == 0)
			break;
		end = ftp_put(ftp, coded, ftp_encode(ftp, block, (size_t) got, coded));
		if (end)
			return end;
	}
	if (ftp->records) {
		int end = ftp_put(ftp, "\377\2", 2);
		return end ? end : FTP_DONE;
	}
	return FTP_DONE;
}

/* A file to the client. The system copies it if its bytes are not changed. */
static inline int ftp_send_file(struct ftp *ftp)
{
	off_t before = lseek(ftp->file, 0, SEEK_CUR);
	if (ftp->ascii || ftp->records)
		return ftp_send_copied(ftp);
	for (;;) {
		int end = ftp_await(ftp, POLLOUT);
		ssize_t got = end ? 0 : sendfile(ftp->data, ftp->file, NULL, FTP_CHUNK);
		if (end)
			return end;
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0 && (errno == EINVAL || errno == ENOSYS) && lseek(ftp->file, 0, SEEK_CUR) == before)
			return ftp_send_copied(ftp);
		if (got < 0)
			return errno == EIO ? FTP_FAILED : FTP_BROKEN;
		if (got == 0)
			return FTP_DONE;
	}
}

static inline int ftp_keep(struct ftp *ftp, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t put = write(ftp->file, bytes, length);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return ftp_say(ftp, "Failure writing to local file."), 0;
		bytes += put;
		length -= (size_t) put;
	}
	return 1;
}

/* A file from the client. */
static inline int ftp_receive_file(struct ftp *ftp)
{
	static char block[1 << 18], plain[(1 << 18) + 1];
	int coded = ftp->ascii || ftp->records;
	ftp->held = ftp->ended = 0;
	while (!ftp->ended) {
		int end = ftp_await(ftp, POLLIN);
		ssize_t got = end ? 0 : recv(ftp->data, block, sizeof block, 0);
		size_t length;
		if (end == FTP_ABORTED)
			return end;
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (end || got < 0 || (got == 0 && ftp->records))
			return ftp_say(ftp, "Failure reading network stream."), FTP_BROKEN;
		if (got == 0)
			break;
		length = coded ? ftp_decode(ftp, block, (size_t) got, plain) : (size_t) got;
		if (!ftp_keep(ftp, coded ? plain : block, length))
			return FTP_FAILED;
	}
	return ftp->held != '\r' || ftp_keep(ftp, "\r", 1) ? FTP_DONE : FTP_FAILED;
}

static inline int ftp_transfer(struct ftp *ftp)
{
	ftp->deaf = ftp->aborted = 0;
	/* What has come before the transfer is waiting in the buffer. */
	if (ftp->taken < ftp->used && ftp_is_aborted(ftp))
		return FTP_ABORTED;
	if (ftp->command == 14 || ftp->command == 15)
		return ftp_list(ftp);
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
	ftp->active = ftp->aborted = 0;
	ftp->restart = 0;
}

static inline void ftp_end(struct ftp *ftp)
{
	ftp_disconnect(ftp);
	ftp_close(&ftp->control);
	ftp_close(&ftp->root);
}

#endif
