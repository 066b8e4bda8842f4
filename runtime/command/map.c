/* What a process told of code that it made while it ran: /tmp/perf-PID.map, as run-times write it for perf. The packer
 * needs it (docs/stream-format.md, "Files"), and nobody knows how long it stays there, so the run has a copy. */
#include "command.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 28, PIECE = 1 << 16, SLACK_S = 2 };

/* A descriptor of it; -1: there is none, it is not the process's, or of one that had the same pid before. */
static int open_map(pid_t pid, time_t began)
{
	char path[64];
	struct stat facts;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &facts) || !S_ISREG(facts.st_mode) || facts.st_nlink != 1 ||
			facts.st_uid != geteuid() || facts.st_mtime + SLACK_S < began)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool map_is_there(pid_t pid, time_t began)
{
	const int fd = open_map(pid, began);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void map_keep(pid_t pid, time_t began, const char *copy)
{
	static char piece[PIECE];
	const int from = open_map(pid, began);
	const int to = from < 0 ? -1 : open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	ssize_t got;

	for (off_t all = 0; to >= 0 && all < MOST_BYTES; all += got) {
		got = read(from, piece, sizeof(piece));
		if (got <= 0 || write(to, piece, (size_t)got) != got)
			break;
	}
	if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
}
