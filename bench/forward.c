/* What bench/forward.py measures with: the forwarding client's calls, and the same bytes over a bare Unix socket.
 *
 *	forward raw-round REQUEST REPLY N        a child answers; prints seconds of a round trip
 *	forward raw-served REQUEST REPLY N write|read|getattr FILE   the same to a child that waits by epoll, as a server
 *	                                               of many must, and does that access, of 64 bytes, for each
 *	forward raw-copy SIZE N FILE|-           bytes to a child that writes them to FILE; prints bytes a second
 *	forward raw-fetch SIZE N FILE            bytes that a child reads from FILE; prints bytes a second
 *	forward round SERVER write|read|getattr SIZE N
 *	forward stream SERVER write|read|append SIZE N LEVEL
 *	forward connect SERVER N                 clients that come and go
 *	forward strided FILE RANK RANKS SIZE N START   plain pwrite of every RANKS-th piece, from START (seconds since 1970) on,
 *	                                               through whatever is preloaded; prints seconds
 *	forward strided-read FILE RANK RANKS SIZE N START   plain pread of the same, which must be what was written
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fathom_fwd.h"

enum {
	WARM = 200,
	WRAP = 64,
	SMALL = 64
}; /* rounds before the clock starts; a file of so many pieces is gone over again; bytes of a small access */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t number(const char *text)
{
	return strtoul(text, NULL, 10);
}

static void *memory(size_t size)
{
	void *bytes = malloc(size + 1);

	if (!bytes)
		err(1, "memory");
	return memset(bytes, 'x', size);
}

/* All of them; false at the end of the stream. */
static int take(int fd, char *to, size_t size)
{
	while (size) {
		ssize_t n = read(fd, to, size);

		if (n <= 0)
			return 0;
		to += n;
		size -= (size_t)n;
	}
	return 1;
}

static void give(int fd, const char *from, size_t size)
{
	while (size) {
		ssize_t n = write(fd, from, size);

		if (n <= 0)
			err(1, "write");
		from += n;
		size -= (size_t)n;
	}
}

/* The child's end of a socket pair in the child (pid 0), the parent's in the parent. */
static int split(pid_t *pid)
{
	int both[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, both) || (*pid = fork()) < 0)
		err(1, "socketpair, fork");
	close(both[*pid ? 1 : 0]);
	return both[*pid ? 0 : 1];
}

/* The least that a server does for a request. */
static void access_file(const char *op, int file, char *bytes)
{
	struct stat about;
	ssize_t n = SMALL;

	if (!strcmp(op, "write"))
		n = pwrite(file, bytes, SMALL, 0);
	else if (!strcmp(op, "read"))
		n = pread(file, bytes, SMALL, 0);
	else if (fstat(file, &about))
		n = -1;
	if (n != SMALL)
		err(1, "%s", op);
}

/* The child: answers as it comes, or (op) waits by epoll and does an access first. */
static void answer_all(int fd, char *in, size_t request, char *out, size_t reply, const char *op,
		       int file)
{
	struct epoll_event event = {.events = EPOLLIN};
	int waits = epoll_create1(EPOLL_CLOEXEC);

	if (waits < 0 || epoll_ctl(waits, EPOLL_CTL_ADD, fd, &event))
		err(1, "epoll");
	if (op)
		access_file("write", file, in);
	while ((!op || epoll_wait(waits, &event, 1, -1) == 1) && take(fd, in, request)) {
		if (op)
			access_file(op, file, in);
		give(fd, out, reply);
	}
	_exit(0);
}

static void raw_round(size_t request, size_t reply, size_t n, const char *op, int file)
{
	char *out = memory(request + SMALL), *in = memory(reply);
	double began = 0;
	pid_t pid;
	int fd = split(&pid);

	if (!pid)
		answer_all(fd, out, request, in, reply, op, file);
	for (size_t i = 0; i < n + WARM; i++) {
		if (i == WARM)
			began = now();
		give(fd, out, request);
		take(fd, in, reply);
	}
	printf("%.9f\n", (now() - began) / (double)n);
	close(fd);
	wait(NULL); /* its processor time is ours */
}

/* A descriptor of the file, -1 for none. */
static int file_or_none(const char *name)
{
	int fd = strcmp(name, "-") ? open(name, O_RDWR | O_CREAT, 0600) : -1;

	if (fd < 0 && strcmp(name, "-"))
		err(1, "%s", name);
	return fd;
}

static void raw_copy(size_t size, size_t n, const char *name)
{
	int file = file_or_none(name), fd;
	char *bytes = memory(size), done = 0;
	pid_t pid;
	double began;

	fd = split(&pid);
	if (!pid) {
		for (size_t i = 0; take(fd, bytes, size); i++)
			if (file >= 0 &&
			    pwrite(file, bytes, size, (off_t)(i % WRAP * size)) != (ssize_t)size)
				err(1, "%s", name);
		give(fd, &done, 1);
		_exit(0);
	}
	began = now();
	for (size_t i = 0; i < n; i++)
		give(fd, bytes, size);
	shutdown(fd, SHUT_WR);
	take(fd, &done, 1);
	printf("%.0f\n", (double)size * (double)n / (now() - began));
}

static void raw_fetch(size_t size, size_t n, const char *name)
{
	int file = file_or_none(name), fd;
	char *bytes = memory(size);
	pid_t pid;
	double began;

	fd = split(&pid);
	for (size_t i = 0; !pid && i < n; i++) {
		if (pread(file, bytes, size, (off_t)(i % WRAP * size)) != (ssize_t)size)
			err(1, "%s", name);
		give(fd, bytes, size);
	}
	if (!pid)
		_exit(0);
	began = now();
	while (take(fd, bytes, size))
		;
	printf("%.0f\n", (double)size * (double)n / (now() - began));
}

static struct fathom_fwd *server;
static struct fathom_fwd_handle file;

static void check(int error, const char *what)
{
	if (error)
		errx(1, "%s: %s", what, strerror(error));
}

static void begin(const char *address)
{
	check(fathom_fwd_init(&server, address, NULL, NULL), address);
	check(fathom_fwd_open(server, NULL, "data",
			      FATHOM_FWD_CREATE | FATHOM_FWD_READ | FATHOM_FWD_WRITE, 0600, &file,
			      NULL, NULL),
	      "open");
}

static void move(const char *op, char *bytes, size_t size, uint64_t offset, uint8_t level)
{
	struct fathom_fwd_hints hints = {.level = level};
	struct iovec piece = {bytes, size};
	struct fathom_fwd_extent extent = {offset, size};
	struct fathom_fwd_attr attr;
	uint64_t where;

	if (!strcmp(op, "write"))
		check(fathom_fwd_write(server, &file, &piece, 1, &extent, 1, NULL, &hints), op);
	else if (!strcmp(op, "read"))
		check(fathom_fwd_read(server, &file, &piece, 1, &extent, 1, NULL, &hints), op);
	else if (!strcmp(op, "append"))
		check(fathom_fwd_append(server, &file, &piece, 1, &where, &hints), op);
	else
		check(fathom_fwd_getattr(server, &file, &attr, &hints), op);
}

static void round_trips(const char *op, size_t size, size_t n)
{
	char *bytes = memory(size);
	double began = 0;

	move("write", bytes, size, 0, FATHOM_FWD_WRITTEN);
	for (size_t i = 0; i < n + WARM; i++) {
		if (i == WARM)
			began = now();
		move(op, bytes, size, strcmp(op, "write") ? 0 : i * size, FATHOM_FWD_ACCEPTED);
	}
	printf("%.9f\n", (now() - began) / (double)n);
}

static void connects(const char *address, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check(fathom_fwd_init(&server, address, NULL, NULL), address);
		fathom_fwd_finalize(server);
	}
}

static void stream(const char *op, size_t size, size_t n, uint8_t level)
{
	char *bytes = memory(size);
	double began = now();

	for (size_t i = 0; i < n; i++)
		move(op, bytes, size, i % WRAP * size, level);
	check(fathom_fwd_commit(server, &file, FATHOM_FWD_WRITTEN, NULL, NULL), "commit");
	printf("%.0f\n", (double)size * (double)n / (now() - began));
}

static bool moves(bool reads, int fd, char *bytes, char *space, size_t size, size_t piece)
{
	off_t at = (off_t)(piece * size);

	if (!reads)
		return pwrite(fd, bytes, size, at) == (ssize_t)size;
	return pread(fd, space, size, at) == (ssize_t)size && !memcmp(space, bytes, size);
}

static void strided(bool reads, const char *name, size_t rank, size_t ranks, size_t size, size_t n,
		    const char *start)
{
	struct timespec all = {.tv_sec = (time_t)number(start)};
	char *bytes = memory(size), *space = memory(size);
	double began;
	int fd = open(name, reads ? O_RDONLY : O_WRONLY | O_CREAT, 0600);

	if (fd < 0)
		err(1, "%s", name);
	memset(bytes, 'a' + (int)rank, size);
	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &all,
			NULL); /* ranks of a program begin together */
	began = now();
	for (size_t i = 0; i < n; i++)
		if (!moves(reads, fd, bytes, space, size, i * ranks + rank))
			err(1, "%s", name);
	if (close(fd))
		err(1, "%s", name);
	printf("%.9f\n", now() - began);
}

int main(int n, char **word)
{
	const char *what = n > 1 ? word[1] : "";

	if (!strcmp(what, "raw-round") && n == 5) {
		raw_round(number(word[2]), number(word[3]), number(word[4]), NULL, -1);
	} else if (!strcmp(what, "raw-served") && n == 7) {
		raw_round(number(word[2]), number(word[3]), number(word[4]), word[5],
			  file_or_none(word[6]));
	} else if (!strcmp(what, "raw-copy") && n == 5) {
		raw_copy(number(word[2]), number(word[3]), word[4]);
	} else if (!strcmp(what, "raw-fetch") && n == 5) {
		raw_fetch(number(word[2]), number(word[3]), word[4]);
	} else if (!strcmp(what, "round") && n == 6) {
		begin(word[2]);
		round_trips(word[3], number(word[4]), number(word[5]));
		fathom_fwd_finalize(server);
	} else if (!strcmp(what, "stream") && n == 7) {
		begin(word[2]);
		stream(word[3], number(word[4]), number(word[5]), (uint8_t)number(word[6]));
		fathom_fwd_finalize(server);
	} else if (!strcmp(what, "connect") && n == 4) {
		connects(word[2], number(word[3]));
	} else if ((!strcmp(what, "strided") || !strcmp(what, "strided-read")) && n == 8) {
		strided(strcmp(what, "strided") != 0, word[2], number(word[3]), number(word[4]),
			number(word[5]), number(word[6]), word[7]);
	} else {
		errx(2, "words as at the top of bench/forward.c");
	}
	return 0;
}
