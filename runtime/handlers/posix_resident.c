/* What the kernel says of a file's mapping: how much of it the process has in memory, and the file's name. Reads of a
 * mapped file are page faults, which no library sees; the pages that they brought stay in the process's page table. */
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/raw.h"
#include "handlers/pagemap.h"
#include "handlers/posix.h"

enum { ENTRIES = 512 };
/* To ask takes 5 µs, as long as to map a file: of small ones it is not worth that. */
static const size_t LEAST = 1 << 20;
/* Of a kernel before Linux 6.7 each page is asked for: 10 ns. */
static const size_t MOST_BY_PAGE = (size_t)64 << 30;

/* One number for each page; its highest bit: the page is in memory. */
static int64_t resident_by_page(int fd, uintptr_t start, uintptr_t end, uintptr_t page)
{
	uint64_t entry[ENTRIES];
	int64_t pages = 0;

	if (end - start > MOST_BY_PAGE)
		return -1;
	for (uintptr_t at = start / page; at < end / page;) {
		const uintptr_t left = end / page - at;
		const long got =
			raw4(SYS_pread64, fd, (long)entry,
			     (long)(8 * (left < ENTRIES ? left : ENTRIES)), (long)(8 * at));

		if (got < 8)
			return -1;
		for (long i = 0; i < got / 8; i++)
			pages += (int64_t)(entry[i] >> 63);
		at += (uintptr_t)got / 8;
	}
	return pages * (int64_t)page;
}

static void add_bytes(void *sum, uint64_t from, uint64_t bytes)
{
	(void)from;
	*(int64_t *)sum += (int64_t)bytes;
}

int64_t posix_resident(uintptr_t start, size_t length)
{
	const uintptr_t page = getauxval(AT_PAGESZ);
	const uintptr_t end = (start + length + page - 1) & -page;
	int64_t bytes = 0;
	long fd;

	if (length < LEAST)
		return -1;
	fd = pagemap_open();
	if (fd < 0)
		return -1;
	if (!pagemap_scan(fd, start, end, PAGE_PRESENT, 0, add_bytes, &bytes))
		bytes = resident_by_page((int)fd, start, end, page);
	raw3(SYS_close, fd, 0, 0);
	return bytes;
}

/* ---- /proc/self/maps: `from-to permissions offset device inode   path` ---- */

enum { PATH_COLUMN = 6 };

struct line {
	uintptr_t edge[2];
	unsigned column;
	size_t length; /* of the path so far */
};

static unsigned digit(char letter)
{
	return (unsigned)(letter <= '9' ? letter - '0' : letter - 'a' + 10);
}

static void take_letter(struct line *line, char letter, char *path, size_t size)
{
	if (line->column < 2 && letter != '-' && letter != ' ')
		line->edge[line->column] = line->edge[line->column] * 16 + digit(letter);
	else if (line->column < PATH_COLUMN)
		line->column += line->column == 0 || letter == ' ';
	else if ((line->length || letter != ' ') && line->length < size - 1)
		path[line->length++] = letter;
}

/* What the kernel adds to the name of a file that is gone. */
static void without_mark(char *path, size_t length)
{
	static const char mark[] = " (deleted)";
	const size_t size = sizeof(mark) - 1;

	if (length > size && !strcmp(path + length - size, mark))
		path[length - size] = '\0';
}

static bool path_in(int fd, uintptr_t start, char *path, size_t size)
{
	struct line line = {0};
	char text[512];
	long got;

	while ((got = raw3(SYS_read, fd, (long)text, sizeof(text))) > 0)
		for (long i = 0; i < got; i++) {
			if (text[i] != '\n') {
				take_letter(&line, text[i], path, size);
				continue;
			}
			path[line.length] = '\0';
			if (line.edge[0] <= start && start < line.edge[1]) {
				without_mark(path, line.length);
				return path[0] == '/';
			}
			line = (struct line){0};
		}
	return false;
}

bool posix_mapped_path(uintptr_t start, char *path, size_t size)
{
	const long fd = raw3(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC);
	const bool found = fd >= 0 && path_in((int)fd, start, path, size);

	if (fd >= 0)
		raw3(SYS_close, fd, 0, 0);
	return found;
}
