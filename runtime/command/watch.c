/* The watcher: one process per node that notes when recorded processes die, and completes run.json where `fathom run`
 * was killed before it could. A process is recorded when it has a ring; its name says whose it is.
 *
 * It holds nothing of the user's: a socket to `fathom run`, and a name that only one watcher of a node can have. It
 * ends when `fathom run` has, and no recorded process is left. */
#include "command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* PIDFD_GET_INFO of Linux 6.15, which knows a status that was waited for already. */
struct pidfd_facts {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
enum { EXIT_CODE_TOO = 8 };
#define PIDFD_FACTS _IOWR(0xff, 11, struct pidfd_facts)

enum {
	LOOK_MS = 500,   /* between looks at processes that the kernel does not tell of */
	GRACE_MS = 1000, /* longest wait for ranks that end after their launcher, or their ring */
};

/* What `fathom run` says; the watcher answers to the last two, when it has noted who died. */
enum saying { PROGRAM, SUCCEEDED, FAILED };
struct message {
	enum saying what;
	pid_t program;
};

struct watched {
	char *ring; /* file name; NULL: not a recorded process, but the program or who started us */
	pid_t pid;
	uint64_t
		start; /* field 22 of /proc/PID/stat; 0: it was gone, or is in another pid namespace */
	int fd;        /* of the process; -1: the kernel has none for us */
	time_t began;  /* when we came to know of it */
	uint64_t over; /* ns: since when it has no ring, and its map is to be kept; 0: not so */
};

static struct {
	const char *run, *rings;
	const char *node; /* its folder in the run; NULL: deaths are not noted */
	struct watched *all;
	size_t count, room;
	int wakes, changes; /* epoll, inotify */
	bool agent;         /* it takes rings of the dead, too */
	bool listening;     /* `fathom run` is there */
	bool answering;     /* it waits until all have died */
	bool completing;    /* run.json's end is ours to write */
} watch;

static uint64_t monotonic_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* State and start of a process; false: it is gone, or only nobody has waited for it yet. */
static bool runs(pid_t pid, uint64_t *start)
{
	char path[64], line[1024], state = 'X', *at;
	unsigned long long began = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat",
		 (int)pid); /* asked again and again: nothing is allocated */
	if (!read_line(path, line, sizeof(line)))
		return false;
	at = strrchr(line, ')'); /* the name before may hold anything */
	if (at)
		sscanf(at,
		       ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
		       "%*d %*d %llu",
		       &state, &began);
	*start = began;
	return state != 'Z' && state != 'X';
}

static bool is_dead(const struct watched *one)
{
	struct pollfd end = {.fd = one->fd, .events = POLLIN};
	uint64_t start = 0;

	if (one->fd >= 0)
		return poll(&end, 1, 0) > 0;
	return !runs(one->pid, &start) || start != one->start;
}

/* Is the process that we know by the pid in the ring's name the one that made it? */
static bool is_its_maker(const struct watched *one)
{
	enum { START_AT = 32 }; /* docs/stream-format.md, "Ring" */
	uint64_t start = 0;
	int fd = open(format_text("%s/%s", watch.rings, one->ring), O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (pread(fd, &start, sizeof(start), START_AT) != sizeof(start))
			start = 0;
		close(fd);
	}
	if (fd < 0)
		return one->start && watch.agent; /* which took it; else the end was in order */
	return one->start && (!start || start == one->start);
}

/* Of one that nobody has waited for yet; false: somebody has, or we may not know. */
static bool zombie_status(const struct watched *one, int *status)
{
	char path[64], line[1024], *at;
	uint64_t start = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)one->pid);
	if (runs(one->pid, &start) || start != one->start || !read_line(path, line, sizeof(line)))
		return false;
	at = strrchr(line, ' '); /* field 52, the last */
	return at && sscanf(at, "%d", status) == 1;
}

/* As wait(2) gives it; -1: not known. */
static int status_of(const struct watched *one)
{
	struct pidfd_facts facts = {.mask = EXIT_CODE_TOO};
	int status = -1;

	if (zombie_status(one, &status))
		return status;
	if (one->fd >= 0 && ioctl(one->fd, PIDFD_FACTS, &facts) == 0 && facts.mask & EXIT_CODE_TOO)
		return facts.exit_code;
	return -1;
}

/* Of its ring's name what is before the point. */
static int name_length(const struct watched *one)
{
	return (int)(strrchr(one->ring, '.') - one->ring);
}

/* A line for the packer (docs/stream-format.md). A run directory that was removed meanwhile needs none. */
static void note_death(const struct watched *one)
{
	const int status = status_of(one);
	const char *path;
	FILE *file;

	if (!watch.node)
		return;
	path = format_text("%s/ends", watch.node);
	mkdir(watch.node, 0777);
	file = fopen(path, "ae");
	if (!file)
		return;
	fprintf(file, "%.*s %" PRIu64, name_length(one), one->ring, monotonic_ns());
	if (status >= 0)
		fprintf(file, " %d", status);
	fputs("\n", file);
	fclose(file);
}

static void forget(size_t at)
{
	if (watch.all[at].fd >= 0)
		close(watch.all[at].fd); /* epoll forgets it, too */
	free(watch.all[at].ring);
	watch.all[at] = watch.all[--watch.count];
}

static void keep_map(const struct watched *one)
{
	if (watch.node)
		map_keep(one->pid, one->began,
			 format_text("%s/%.*s.map", watch.node, name_length(one), one->ring));
}

static bool is_waited_for(const struct watched *one)
{
	return !one->over || monotonic_ns() - one->over < GRACE_MS * 1000000ull;
}

static void note_dead(void)
{
	for (size_t at = watch.count; at-- > 0;) {
		const struct watched *one = &watch.all[at];

		if (!is_dead(one) && is_waited_for(one))
			continue;
		if (one->ring && !one->over && is_its_maker(one))
			note_death(one);
		if (one->ring)
			keep_map(one);
		forget(at);
	}
}

static void add(pid_t pid, const char *ring)
{
	struct epoll_event wake = {.events = EPOLLIN};
	struct watched one = {
		.ring = ring ? strdup(ring) : NULL,
		.pid = pid,
		.began = time(NULL),
	};

	runs(pid, &one.start);
	one.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (one.fd >= 0 && epoll_ctl(watch.wakes, EPOLL_CTL_ADD, one.fd, &wake)) {
		close(one.fd);
		one.fd = -1;
	}
	if (watch.count == watch.room) {
		watch.room = watch.room ? 2 * watch.room : 64;
		watch.all = realloc(watch.all, watch.room * sizeof(*watch.all));
		if (!watch.all)
			_exit(EXIT_FATHOM);
	}
	watch.all[watch.count++] = one;
}

static bool is_ring(const char *name)
{
	const char *end = strrchr(name, '.');

	return end && strcmp(end, ".ring") == 0 && strtol(name, NULL, 10) > 0;
}

static size_t place_of(const char *ring)
{
	size_t at = 0;

	while (at < watch.count && !(watch.all[at].ring && strcmp(watch.all[at].ring, ring) == 0))
		at++;
	return at;
}

static void ring_appeared(const char *name)
{
	if (is_ring(name) && place_of(name) == watch.count)
		add((pid_t)strtol(name, NULL, 10), name);
}

/* Its process ends in order, or became another program. What it tells of its code is all there when it has ended. */
static void ring_vanished(const char *name)
{
	size_t at = place_of(name);

	if (at == watch.count)
		return;
	if (map_is_there(watch.all[at].pid, watch.all[at].began))
		watch.all[at].over = monotonic_ns();
	else
		forget(at);
}

static void look_at_all_rings(void)
{
	DIR *directory = opendir(watch.rings);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		ring_appeared(entry->d_name);
	if (directory)
		closedir(directory);
}

static void take_changes(void)
{
	_Alignas(struct inotify_event) char block[1 << 14];
	ssize_t got;

	while ((got = read(watch.changes, block, sizeof(block))) > 0)
		for (char *at = block; at < block + got;) {
			const struct inotify_event *change = (const void *)at;

			at += sizeof(*change) + change->len;
			if (change->mask & IN_Q_OVERFLOW)
				look_at_all_rings();
			else if (change->len && change->mask & (IN_CREATE | IN_MOVED_TO))
				ring_appeared(change->name);
			else if (change->len)
				ring_vanished(change->name);
		}
}

/* `fathom run` has gone without a word: the end of the run is when the last of its processes died. */
static void lose_starter(void)
{
	watch.completing = watch.listening;
	watch.listening = false;
	epoll_ctl(watch.wakes, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
}

static void answer(void)
{
	char nothing = 0;

	send(STDIN_FILENO, &nothing, 1, MSG_NOSIGNAL);
	watch.answering = watch.listening = false;
	epoll_ctl(watch.wakes, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
}

static void take_message(void)
{
	struct message message;
	ssize_t got = recv(STDIN_FILENO, &message, sizeof(message), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got != sizeof(message))
		lose_starter();
	else if (message.what == PROGRAM)
		add(message.program, NULL);
	else if (message.what == FAILED)
		watch.answering = true;
	else
		answer();
}

/* run.json once more, with its end, made aside and moved over. How the program ended nobody knows. */
static void complete(void)
{
	const char *path = format_text("%s/run.json", watch.run);
	const int lock = lock_file(path);
	size_t size = 0;
	char *text = read_file(path, &size), *brace = text ? strrchr(text, '}') : NULL;

	if (brace && !strstr(text, "\"end_ns\": ")) {
		while (brace > text && strchr(" \n", brace[-1]))
			brace--;
		replace_file(path, format_text("%.*s,\n  \"end_ns\": %" PRIu64 "\n}\n",
					       (int)(brace - text), text, now_ns()));
	}
	if (lock >= 0)
		close(lock);
}

static void wake(void)
{
	struct epoll_event events[64];
	bool untold = false;

	for (size_t at = 0; at < watch.count; at++)
		untold |= watch.all[at].fd < 0 || watch.all[at].over;
	epoll_wait(watch.wakes, events, 64, untold ? LOOK_MS : -1);
	note_dead(); /* before rings are seen to vanish: an agent removes those of the dead */
	take_changes();
	note_dead();
	if (watch.listening)
		take_message();
	if (watch.answering && watch.listening && watch.count == 0)
		answer();
}

/* What the watcher is started with. */
struct watcher {
	const struct run *run;
	pid_t starter; /* 0: it stays for the other end of the socket */
};

static void begin(const struct watcher *watcher)
{
	struct epoll_event event = {.events = EPOLLIN};
	const struct run *run = watcher->run;
	struct rlimit files;
	struct node node;

	node_read(&node);
	watch.run = format_text("%s", run->directory);
	watch.rings = format_text("%s", run->ring);
	if (!run->options.sink.on) /* then nothing but shared files is made in the run */
		watch.node =
			format_text("%s/streams/%s-%s", run->directory, node.boot_id, node.host);
	watch.agent = run->options.sample || selection_is_steered(run);
	watch.listening = !watcher->starter;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	watch.wakes = epoll_create1(EPOLL_CLOEXEC);
	watch.changes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	inotify_add_watch(watch.changes, watch.rings,
			  IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR);
	epoll_ctl(watch.wakes, EPOLL_CTL_ADD, watch.changes, &event);
	if (watch.listening)
		epoll_ctl(watch.wakes, EPOLL_CTL_ADD, STDIN_FILENO, &event);
	else
		add(watcher->starter, NULL);
	look_at_all_rings();
}

/* It is no second `fathom run`: who kills those by their command line does not mean it. Nothing of ours looks at the
 * words of the command line any more. */
static void take_name(void)
{
	const char *name = format_text("fathom%c--watch%c%s", '\0', '\0', watch.run);
	const size_t length = sizeof("fathom") + sizeof("--watch") + strlen(watch.run);
	size_t room = 0;
	char *line = read_file("/proc/self/cmdline", &room);

	if (!line || room <= 1)
		return;
	memset(program_invocation_name, 0, room);
	memcpy(program_invocation_name, name, length < room ? length : room - 1);
	prctl(PR_SET_NAME, "fathom-watch");
}

__attribute__((noreturn)) static void become_watcher(const void *of)
{
	const struct watcher *watcher = of;

	begin(watcher);
	if (watch.wakes < 0 || watch.changes < 0)
		_exit(EXIT_FATHOM);
	take_name();
	while (watch.listening || watch.count > 0)
		wake();
	if (watch.completing)
		complete();
	if (watcher->starter)
		keep_of_node(watcher->run);
	_exit(0);
}

/* A socket that has the name of this run's watcher on this node; -1: there is one, or none can be. The kernel frees the
 * name with its last holder, however that ends. */
static int claim(const struct run *run)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int length =
		snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "fathom-watch.%u.%016llx",
			 (unsigned)getuid(), (unsigned long long)run->id);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&name,
			    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Without one a run is recorded as well: a call that is open when its process is killed then lasts until the run's end.
 * `wait`: it is told of the program and of its end. */
void watch_start(struct run *run, bool wait)
{
	int ends[2] = {-1, -1};
	const struct watcher watcher = {
		.run = run,
		.starter = wait ? 0 : getpid(),
	};
	struct apart apart = {.output = -1, .become = become_watcher, .of = &watcher};

	run->watcher = -1;
	apart.lock_fd = claim(run);
	if (apart.lock_fd < 0 ||
	    (wait && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)))
		return;
	apart.input = ends[0];
	apart_start(&apart);
	close(apart.lock_fd);
	if (wait)
		close(ends[0]);
	run->watcher = ends[1];
}

static void tell(const struct run *run, enum saying what, pid_t program)
{
	struct message message = {.what = what, .program = program};

	if (run->watcher >= 0)
		send(run->watcher, &message, sizeof(message), MSG_NOSIGNAL);
}

void watch_program(const struct run *run, pid_t program)
{
	tell(run, PROGRAM, program);
}

/* Until those that died with the program are noted. Ranks end a little later than a launcher that failed. */
void watch_end(const struct run *run, int wait_status)
{
	struct pollfd answer = {.fd = run->watcher, .events = POLLIN};

	if (run->watcher < 0)
		return;
	tell(run, wait_status ? FAILED : SUCCEEDED, 0);
	poll(&answer, 1, GRACE_MS);
	close(run->watcher);
}
