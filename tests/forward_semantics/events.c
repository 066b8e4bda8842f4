/* What is told of changes, handles, and calls that libc does inside. */
#include <aio.h>
#include <poll.h>
#include <sys/inotify.h>

#include "semantics.h"

static void watched(void)
{
	int fd = (int)MUST(inotify_init1(IN_NONBLOCK));
	char bytes[400];

	SAY(inotify_add_watch(fd, in("."), IN_CREATE | IN_MODIFY) < 0 ? -1 : 0);
	file_with("f", "text");
	SAY(read(fd, bytes, sizeof(bytes)) < 0 ? -1 : 0);
}

static void handles(void)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + 128];
	} at = {.handle = {.handle_bytes = 128}};
	int mount, dir = (int)MUST(open(in("."), O_RDONLY));

	file_with("f", "text");
	SAY(name_to_handle_at(AT_FDCWD, in("f"), &at.handle, &mount, 0));
	SAY(open_by_handle_at(dir, &at.handle, O_RDONLY) < 0 ? -1 : 0);
}

static void asynchronous(void)
{
	static char bytes[4];
	struct aiocb block = {
		.aio_fildes = file_with("f", "text"), .aio_buf = bytes, .aio_nbytes = 4};
	const struct aiocb *list[] = {&block};

	SAY(aio_read(&block));
	if (aio_error(&block) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	say("\"%.4s\"", bytes);
}

static void streams(void)
{
	FILE *f = fopen(in("f"), "w+");
	char line[20] = "";

	SAY(f ? 0 : -1);
	fputs("one\ntwo\n", f);
	SAY(fseek(f, 4, SEEK_SET));
	say("%.3s", fgets(line, sizeof(line), f) ? line : "nothing");
	SAY(fclose(f));
	f = fopen(in("f"), "a+x");
	SAY(f ? 0 : -1);
	f = fopen(in("f"), "a");
	fputs("end", f);
	SAY(fclose(f));
	say("%ld bytes", size_of("f"));
}

static void reopened_stream(void)
{
	FILE *f;

	file_with("f", "text");
	f = fopen(in("f"), "r");
	SAY(freopen(in("f"), "w", f) ? 0 : -1);
}

static void made_up_names(void)
{
	char path[500];

	snprintf(path, sizeof(path), "%s", in("XXXXXX"));
	SAY(mkstemp(path) < 0 ? -1 : 0);
	SAY(mkstemp(path) < 0 ? -1 : 0);
	snprintf(path, sizeof(path), "%s", in("dXXXXXX"));
	SAY(mkdtemp(path) ? 0 : -1);
}

static void real_path(void)
{
	char path[5000];

	MUST(mkdir(in("d"), 0755));
	MUST(symlink("d", in("l")));
	SAY(realpath(in("l/../l/."), path) ? 0 : -1);
	say("%s", path + strlen(path) - 2);
	SAY(realpath(in("nowhere"), path) ? 0 : -1);
}

const struct check event_checks[] = {
	{"other", "inotify: watch, an event", watched},
	{"other", "name_to_handle_at, open_by_handle_at", handles},
	{"other", "aio_read", asynchronous},
	{"other", "fopen w+, fseek, fgets, fclose, a+x, a", streams},
	{"other", "freopen", reopened_stream},
	{"other", "mkstemp, without XXXXXX, mkdtemp", made_up_names},
	{"other", "realpath of l/../l/., of nothing", real_path},
	{0},
};
