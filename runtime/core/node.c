/* What a node's first traced process leaves for the reader, where `fathom run` was not there to: the mounts,
 * by which device numbers are file systems, and the node's name. docs/stream-format.md, "Files". */
#include <fcntl.h>
#include <string.h>

#include "core/base.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/ring.h"
#include "core/state.h"
#include "core/raw.h"

/* All text is put together in process->path: a signal handler's stack may be small. */
static void append(const char *key, const char *value)
{
	join_path(process->path, process->path, key, value);
	join_path(process->path, process->path, "\n", "");
}

/* The first line of a file, where there is one. */
static void append_line(const char *key, const char *from)
{
	const size_t before = strlen(process->path);
	size_t length;
	long got;

	join_path(process->path, process->path, key, "");
	length = strlen(process->path);
	got = raw_read_file(from, process->path + length, PATH_BYTES - length - 2);
	process->path[got > 0 ? length + (size_t)got : before] = '\0';
	if (got <= 0)
		return;
	process->path[length + strcspn(process->path + length, "\n")] = '\0';
	join_path(process->path, process->path, "\n", "");
}

static long create(const char *directory, const char *name)
{
	join_path(process->path, directory, "/", name);
	return raw4(SYS_openat, AT_FDCWD, (long)process->path,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

static void copy_mounts(long to)
{
	char *block = process->path;
	long from =
		raw4(SYS_openat, AT_FDCWD, (long)"/proc/self/mountinfo", O_RDONLY | O_CLOEXEC, 0);
	long got;

	while (from >= 0 && (got = raw3(SYS_read, from, (long)block, PATH_BYTES)) > 0)
		file_result(raw3(SYS_write, to, (long)block, got));
	if (from >= 0)
		raw3(SYS_close, from, 0, 0);
}

void node_describe(const char *directory)
{
	long fd = create(directory, "mounts");

	if (fd < 0)
		return; /* somebody else does it */
	copy_mounts(fd);
	raw3(SYS_close, fd, 0, 0);
	fd = create(directory, "node");
	if (fd < 0)
		return;
	process->path[0] = '\0';
	append("host=", config.host);
	append("boot_id=", config.boot_id);
	append("clock=", clock_in_chunks() == 0 ? "tsc" : "monotonic");
	append_line("processors=", "/sys/devices/system/cpu/online");
	file_result(raw3(SYS_write, fd, (long)process->path, (long)strlen(process->path)));
	raw3(SYS_close, fd, 0, 0);
}
