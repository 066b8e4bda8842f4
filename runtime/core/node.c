/* What a node's first traced process leaves for the reader, where `fathom run` was not there to: the mounts,
 * by which device numbers are file systems, and the node's name. docs/stream-format.md, "Files". */
#include <fcntl.h>
#include <string.h>

#include "core/core.h"
#include "core/raw.h"

static void append(char *out, size_t size, const char *key, const char *value)
{
	size_t n = strlen(out);

	n += text_copy(out + n, size - n, key);
	n += text_copy(out + n, size - n, value);
	text_copy(out + n, size - n, "\n");
}

static long create(const char *directory, const char *name)
{
	char path[PATH_BYTES];

	join_path(path, directory, "/", name);
	return raw4(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0644);
}

static void copy_mounts(long to)
{
	char block[2048];
	long from =
		raw4(SYS_openat, AT_FDCWD, (long)"/proc/self/mountinfo", O_RDONLY | O_CLOEXEC, 0);
	long got;

	while (from >= 0 && (got = raw3(SYS_read, from, (long)block, sizeof(block))) > 0)
		file_result(raw3(SYS_write, to, (long)block, got));
	if (from >= 0)
		raw3(SYS_close, from, 0, 0);
}

void node_describe(const char *directory)
{
	char text[512] = "";
	long fd = create(directory, "mounts");

	if (fd < 0)
		return; /* somebody else does it */
	copy_mounts(fd);
	raw3(SYS_close, fd, 0, 0);
	append(text, sizeof(text), "host=", config.host);
	append(text, sizeof(text), "boot_id=", config.boot_id);
	append(text, sizeof(text), "clock=", clock_kind == 0 ? "tsc" : "monotonic");
	fd = create(directory, "node");
	if (fd < 0)
		return;
	file_result(raw3(SYS_write, fd, (long)text, (long)strlen(text)));
	raw3(SYS_close, fd, 0, 0);
}
