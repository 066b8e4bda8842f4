/* Memory mapped from files. */
#include <sys/mman.h>

#include "semantics.h"

enum { PAGE = 4096 };

static void private_reads(void)
{
	int fd = file_with("f", "text");
	char *map = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	SAY(map == MAP_FAILED ? -1 : 0);
	if (map != MAP_FAILED)
		say("\"%.4s\", %s", map, map[5] ? "something" : "zeros");
}

static void private_writes(void)
{
	int fd = file_with("f", "text");
	char *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	SAY(map == MAP_FAILED ? -1 : 0);
	map[0] = 'T';
	say_content("f");
}

static void private_sees_later(void)
{
	int fd = file_with("f", "text");
	char *map = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	SAY(map == MAP_FAILED ? -1 : 0);
	MUST(pwrite(fd, "T", 1, 0));
	say("\"%.4s\"", map);
}

static void beyond_end(void)
{
	int fd = file_with("f", "text");
	volatile char *map = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	say("%d", map[PAGE]);
}

static void shared_reads(void)
{
	int fd = file_with("f", "text");

	SAY(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
}

static void shared_writes(void)
{
	int fd = file_with("f", "text");
	char *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	say_result(map == MAP_FAILED ? -1 : 0);
	if (map == MAP_FAILED)
		return;
	map[0] = 'T';
	SAY(msync(map, PAGE, MS_SYNC));
	say_content("f");
}

static void mistakes(void)
{
	int fd = file_with("f", "text"), writer = (int)MUST(open(in("f"), O_WRONLY)),
	    dir = (int)MUST(open(in("."), O_RDONLY));

	SAY(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 100) == MAP_FAILED ? -1 : 0);
	SAY(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, writer, 0) == MAP_FAILED ? -1 : 0);
	SAY(mmap(NULL, 0, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
	SAY(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, dir, 0) == MAP_FAILED ? -1 : 0);
}

const struct check mapping_checks[] = {
	{"mappings", "MAP_PRIVATE: read, beyond the end", private_reads},
	{"mappings", "MAP_PRIVATE written: the file", private_writes},
	{"mappings", "MAP_PRIVATE: what is written to the file later", private_sees_later},
	{"mappings", "MAP_PRIVATE: a page beyond the end", beyond_end},
	{"mappings", "MAP_SHARED for reading", shared_reads},
	{"mappings", "MAP_SHARED for writing, msync: the file", shared_writes},
	{"mappings", "at 100, of O_WRONLY, of nothing, of a directory", mistakes},
	{0},
};
