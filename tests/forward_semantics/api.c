/* semantics_api ADDRESS: what `semantics` does with files, by the C interface, where it has the call; under the same names. */
#include <fathom_fwd.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "outcome.h"

enum { BLOCK = 4096, MIB = 1 << 20 };

static const uint32_t both = FATHOM_FWD_READ | FATHOM_FWD_WRITE;
static struct fathom_fwd *fwd;
static struct fathom_fwd_handle top; /* the check's directory */

static void say_error(int error)
{
	say("%s", error ? strerrorname_np(error) : "ok");
}

/* A number, or why there is none. */
static void say_number(int error, uint64_t number)
{
	if (error || !number)
		say_error(error);
	else
		say("%llu", (unsigned long long)number);
}

static int open_at(const char *path, uint32_t flags, struct fathom_fwd_handle *file)
{
	return fathom_fwd_open(fwd, &top, path, flags, 0644, file, NULL, NULL);
}

static int write_at(const struct fathom_fwd_handle *file, const char *text, uint64_t at)
{
	struct iovec memory = {(void *)(uintptr_t)text, strlen(text)};
	struct fathom_fwd_extent extent = {at, memory.iov_len};
	uint64_t done = 0;

	return fathom_fwd_write(fwd, file, &memory, 1, &extent, 1, &done, NULL);
}

static struct fathom_fwd_handle file_with(const char *name, const char *text)
{
	struct fathom_fwd_handle file = {{0}};

	if (open_at(name, FATHOM_FWD_CREATE | FATHOM_FWD_TRUNCATE | both, &file) ||
	    (*text && write_at(&file, text, 0)))
		exit(1);
	return file;
}

static struct fathom_fwd_handle file_of(const char *name, size_t bytes)
{
	char *text = malloc(bytes + 1);
	struct fathom_fwd_handle file;

	for (size_t i = 0; i < bytes; i++)
		text[i] = (char)('a' + i % 26);
	text[bytes] = 0;
	file = file_with(name, text);
	free(text);
	return file;
}

static uint64_t read_at(const struct fathom_fwd_handle *file, char *bytes, size_t room, uint64_t at)
{
	struct fathom_fwd_extent extent = {at, room};
	struct iovec memory = {bytes, room};
	uint64_t done = 0;

	fathom_fwd_read(fwd, file, &memory, 1, &extent, 1, &done, NULL);
	return done;
}

static void say_content(const struct fathom_fwd_handle *file)
{
	char bytes[60];
	uint64_t n = read_at(file, bytes, sizeof(bytes), 0);

	for (uint64_t i = 0; i < n; i++)
		bytes[i] = bytes[i] ? bytes[i] : '.';
	say("\"%.*s\"", (int)n, bytes);
}

static struct fathom_fwd_attr about(const struct fathom_fwd_handle *file)
{
	struct fathom_fwd_attr attr = {0};

	fathom_fwd_getattr(fwd, file, &attr, NULL);
	return attr;
}

static int make_link(const char *target, const char *path)
{
	return fathom_fwd_symlink(fwd, &top, path, target, NULL, NULL, NULL);
}

static int make_directory(const char *path)
{
	return fathom_fwd_mkdir(fwd, &top, path, 0755, NULL, NULL, NULL);
}

static int rename_to(const char *from, const char *to, uint32_t flags)
{
	return fathom_fwd_rename(fwd, &top, from, &top, to, flags, NULL);
}

static int remove_file(const char *path)
{
	return fathom_fwd_remove(fwd, &top, path, 0, NULL);
}

static int remove_directory(const char *path)
{
	return fathom_fwd_remove(fwd, &top, path, FATHOM_FWD_DIRECTORY, NULL);
}

static int look(const char *path, struct fathom_fwd_handle *file)
{
	return fathom_fwd_lookup(fwd, &top, path, 0, file, NULL, NULL);
}

/* ---- open ---- */

static void exclusive(void)
{
	uint32_t flags = FATHOM_FWD_CREATE | FATHOM_FWD_EXCLUSIVE | both;

	file_with("f", "text");
	make_link("nowhere", "dangling");
	say_error(open_at("f", flags, NULL));
	say_error(open_at("dangling", flags, NULL));
	say_error(open_at("new", flags, NULL));
}

static void through_link(void)
{
	make_link("target", "dangling");
	say_error(open_at("dangling", FATHOM_FWD_CREATE | both, NULL));
	say_error(look("target", NULL));
}

static void nofollow(void)
{
	file_with("f", "text");
	make_link("f", "link");
	say_error(open_at("link", FATHOM_FWD_READ | FATHOM_FWD_NOFOLLOW, NULL));
	say_error(open_at("f", FATHOM_FWD_READ | FATHOM_FWD_NOFOLLOW, NULL));
}

static void truncated(void)
{
	struct fathom_fwd_handle file = file_with("f", "text");

	say_error(open_at("f", FATHOM_FWD_READ | FATHOM_FWD_TRUNCATE, NULL));
	say("%llu bytes", (unsigned long long)about(&file).size);
}

static void tmpfile_(void)
{
	struct fathom_fwd_handle file;
	struct fathom_fwd_attr attr;
	int error =
		fathom_fwd_open(fwd, &top, "", FATHOM_FWD_TMPFILE | both, 0640, &file, &attr, NULL);

	if (error) {
		say_error(error);
		return;
	}
	error = write_at(&file, "text", 0);
	say_number(error, 4);
	say("%u names, %04o", attr.nlink, attr.mode & 07777);
	say_content(&file);
}

static void tmpfile_mistakes(void)
{
	file_with("f", "text");
	say_error(open_at("", FATHOM_FWD_TMPFILE | FATHOM_FWD_READ, NULL));
	say_error(open_at("f", FATHOM_FWD_TMPFILE | both, NULL));
	say_error(open_at("nowhere", FATHOM_FWD_TMPFILE | both, NULL));
}

/* The time of the last read, as it was set, or another. */
static void say_read_time(const struct fathom_fwd_handle *file, struct fathom_fwd_hints *hints)
{
	struct fathom_fwd_attr old = {.atime = {1000, 0}, .mtime = {2000, 0}};
	struct fathom_fwd_extent extent = {0, 1};
	char byte;
	struct iovec memory = {&byte, 1};
	uint64_t done;

	fathom_fwd_setattr(fwd, file, FATHOM_FWD_SET_ATIME | FATHOM_FWD_SET_MTIME, &old, NULL);
	fathom_fwd_read(fwd, file, &memory, 1, &extent, 1, &done, hints);
	say(about(file).atime.seconds == 1000 ? "kept" : "now");
}

static void noatime(void)
{
	static const struct fathom_fwd_hint quietly = {.key = FATHOM_FWD_READ_NOATIME};
	struct fathom_fwd_hints hints = {.hint = &quietly, .count = 1};
	struct fathom_fwd_handle file = file_with("f", "text");

	say_read_time(&file, NULL);
	say_read_time(&file, &hints);
}

/* ---- holes and space ---- */

static int allocate(const struct fathom_fwd_handle *file, uint32_t mode, uint64_t at, uint64_t n)
{
	return fathom_fwd_allocate(fwd, file, mode, at, n, NULL);
}

static void say_space(uint32_t mode)
{
	struct fathom_fwd_handle file = file_with("f", "text");
	struct fathom_fwd_attr attr;

	say_error(allocate(&file, mode, 0, 2 * MIB));
	attr = about(&file);
	say("%llu bytes, %s", (unsigned long long)attr.size,
	    attr.blocks >= 2 * MIB / 512 ? "set aside" : "not set aside");
}

static void set_aside(void)
{
	say_space(0);
}

static void keep_size(void)
{
	say_space(FATHOM_FWD_KEEP_SIZE);
}

static void punch(void)
{
	struct fathom_fwd_handle file = file_of("f", 3 * BLOCK);
	uint64_t before;
	char bytes[4] = "";

	fathom_fwd_commit(fwd, &file, FATHOM_FWD_SYNCED, NULL, NULL);
	before = about(&file).blocks;
	say_error(allocate(&file, FATHOM_FWD_PUNCH_HOLE | FATHOM_FWD_KEEP_SIZE, BLOCK, BLOCK));
	read_at(&file, bytes, 4, BLOCK);
	say("%s, %llu bytes, %s", bytes[0] ? "as it was" : "zeros",
	    (unsigned long long)about(&file).size,
	    about(&file).blocks < before ? "fewer blocks" : "no fewer blocks");
}

static void zero(void)
{
	struct fathom_fwd_handle file = file_of("f", 3 * BLOCK);
	char bytes[4] = "";

	say_error(allocate(&file, FATHOM_FWD_ZERO_RANGE, 10, BLOCK));
	read_at(&file, bytes, 4, 10);
	say(bytes[0] ? "as it was" : "zeros");
	say_error(allocate(&file, FATHOM_FWD_ZERO_RANGE, 3 * BLOCK, BLOCK));
	say("%llu bytes", (unsigned long long)about(&file).size);
	say_error(allocate(&file, FATHOM_FWD_ZERO_RANGE | FATHOM_FWD_KEEP_SIZE, 5 * BLOCK, BLOCK));
	say("%llu bytes", (unsigned long long)about(&file).size);
}

static void insert(void)
{
	struct fathom_fwd_handle file = file_of("f", 3 * BLOCK);
	char bytes[4];

	say_error(allocate(&file, 0x20, BLOCK, BLOCK));
	read_at(&file, bytes, 4, 2 * BLOCK);
	say("%llu bytes, \"%.4s\"", (unsigned long long)about(&file).size, bytes);
}

static void sought(const struct fathom_fwd_handle *file, uint64_t from, enum fathom_fwd_seek what)
{
	uint64_t place = 0;
	int error = fathom_fwd_seek(fwd, file, from, what, &place, NULL);

	say_number(error, place);
}

static void only_a_hole(void)
{
	struct fathom_fwd_handle file = file_with("f", "");

	sought(&file, 0, FATHOM_FWD_HOLE);
	fathom_fwd_resize(fwd, &file, MIB, NULL);
	sought(&file, 0, FATHOM_FWD_DATA);
	sought(&file, 10, FATHOM_FWD_HOLE);
}

/* ---- names ---- */

static void rename_over_open(void)
{
	struct fathom_fwd_handle old, new;

	file_with("f", "new");
	old = file_with("g", "old");
	say_error(rename_to("f", "g", 0));
	say_content(&old);
	look("g", &new);
	say_content(&new);
	say_error(look("f", NULL));
}

static void renames(void)
{
	file_with("f", "text");
	make_directory("d");
	make_directory("full");
	make_directory("full/x");
	say_error(rename_to("f", "d", 0));
	say_error(rename_to("d", "f", 0));
	say_error(rename_to("d", "d/x", 0));
	say_error(rename_to("d", "full", 0));
	say_error(rename_to("nowhere", "g", 0));
	say_error(rename_to("full", "d", 0));
}

static void rename_slashes(void)
{
	file_with("f", "text");
	make_directory("d");
	say_error(rename_to("f/", "g", 0));
	say_error(rename_to("f", "g/", 0));
	say_error(rename_to("d/", "e/", 0));
	say_error(rename_to("e/.", "h", 0));
}

static void rename_flags(void)
{
	struct fathom_fwd_handle file;

	file_with("f", "f");
	file_with("g", "g");
	say_error(rename_to("f", "g", FATHOM_FWD_NOREPLACE));
	say_error(rename_to("f", "g", FATHOM_FWD_EXCHANGE));
	look("f", &file);
	say_content(&file);
	say_error(rename_to("f", "h", FATHOM_FWD_EXCHANGE));
	say_error(rename_to("f", "h", FATHOM_FWD_NOREPLACE | FATHOM_FWD_EXCHANGE));
}

static void removals(void)
{
	file_with("f", "text");
	make_directory("d");
	make_directory("d/x");
	say_error(remove_file("d"));
	say_error(remove_directory("d"));
	say_error(remove_directory("f"));
	say_error(remove_file("f/"));
	say_error(remove_directory("d/x/."));
	say_error(remove_directory("d/x/.."));
	say_error(remove_directory("d/x/"));
	say_error(remove_directory("d"));
	say_error(remove_file("nowhere"));
}

static void directories_made(void)
{
	file_with("f", "text");
	say_error(make_directory("d/"));
	say_error(make_directory("d"));
	say_error(make_directory("f/x"));
	say_error(make_directory("e/."));
	say_error(make_directory("f/"));
}

static void dots_through_link(void)
{
	struct fathom_fwd_handle file;

	make_directory("A");
	make_directory("A/B");
	make_link("A/B", "S");
	file_with("x", "wrong");
	file_with("A/x", "right");
	if (look("S/../x", &file))
		return;
	say_content(&file);
	say_error(remove_file("S/../x"));
	look("x", &file);
	say_content(&file);
}

/* ---- attributes ---- */

static void modes(void)
{
	struct fathom_fwd_handle file = file_with("f", "text"), link;
	struct fathom_fwd_attr attr = {.mode = 07777};

	say_error(fathom_fwd_setattr(fwd, &file, FATHOM_FWD_SET_MODE, &attr, NULL));
	say("%04o", about(&file).mode & 07777);
	attr.mode = 0;
	say_error(fathom_fwd_setattr(fwd, &file, FATHOM_FWD_SET_MODE, &attr, NULL));
	say("%04o", about(&file).mode & 07777);
	make_link("f", "l");
	fathom_fwd_lookup(fwd, &top, "l", FATHOM_FWD_NOFOLLOW, &link, NULL, NULL);
	attr.mode = 0600;
	say_error(fathom_fwd_setattr(fwd, &link, FATHOM_FWD_SET_MODE, &attr, NULL));
	look("l", &file);
	attr.mode = 0640;
	say_error(fathom_fwd_setattr(fwd, &file, FATHOM_FWD_SET_MODE, &attr, NULL));
	say("%04o", about(&file).mode & 07777);
}

/* ---- extended attributes ---- */

static int set(const struct fathom_fwd_handle *file, const char *name, const char *value,
	       uint32_t flags)
{
	return fathom_fwd_setxattr(fwd, file, name, value, strlen(value), flags, NULL);
}

static void got(const struct fathom_fwd_handle *file, const char *name, char *value, size_t room)
{
	size_t length = 0;
	int error = fathom_fwd_getxattr(fwd, file, name, value, room, &length, NULL);

	say_number(error, length);
}

static void values(void)
{
	struct fathom_fwd_handle file = file_with("f", "text");
	char value[20] = "";

	say_error(set(&file, "user.a", "one", 0));
	got(&file, "user.a", value, sizeof(value));
	say("\"%.3s\"", value);
	say_error(set(&file, "user.b", "", 0));
	got(&file, "user.b", value, sizeof(value));
	got(&file, "user.c", value, sizeof(value));
	say_error(fathom_fwd_removexattr(fwd, &file, "user.a", NULL));
	say_error(fathom_fwd_removexattr(fwd, &file, "user.a", NULL));
}

static void listed(const struct fathom_fwd_handle *file, char *names, size_t room)
{
	size_t length = 0;
	int error = fathom_fwd_listxattr(fwd, file, names, room, &length, NULL);

	say_number(error, length);
}

static void sizes(void)
{
	struct fathom_fwd_handle file = file_with("f", "text");
	char value[4];

	say_error(set(&file, "user.a", "some text", 0));
	got(&file, "user.a", NULL, 0);
	got(&file, "user.a", value, sizeof(value));
	listed(&file, NULL, 0);
	listed(&file, value, sizeof(value));
}

static void xattr_flags(void)
{
	struct fathom_fwd_handle file = file_with("f", "text");

	say_error(set(&file, "user.a", "1", FATHOM_FWD_XATTR_REPLACE));
	say_error(set(&file, "user.a", "1", FATHOM_FWD_XATTR_CREATE));
	say_error(set(&file, "user.a", "2", FATHOM_FWD_XATTR_CREATE));
	say_error(set(&file, "user.a", "2", FATHOM_FWD_XATTR_REPLACE));
	say_error(set(&file, "user.a", "2", 8));
}

static const struct check {
	const char *subject, *what;
	void (*run)(void);
} checks[] = {
	{"open", "O_CREAT | O_EXCL of a file, of a dangling link, of no file", exclusive},
	{"open", "O_CREAT through a dangling link", through_link},
	{"open", "O_NOFOLLOW of a link, of a file", nofollow},
	{"open", "O_TRUNC with O_RDONLY", truncated},
	{"open", "time of reading, without and with O_NOATIME", noatime},
	{"open", "O_TMPFILE written, its names and mode, read", tmpfile_},
	{"open", "O_TMPFILE with O_RDONLY, in a file, in no directory", tmpfile_mistakes},
	{"fallocate", "2 MiB: size, space", set_aside},
	{"fallocate", "FALLOC_FL_KEEP_SIZE: size, space", keep_size},
	{"fallocate", "FALLOC_FL_PUNCH_HOLE", punch},
	{"fallocate", "FALLOC_FL_ZERO_RANGE within, at the end, with KEEP_SIZE", zero},
	{"fallocate", "FALLOC_FL_INSERT_RANGE", insert},
	{"holes", "of an empty file, of nothing but a hole", only_a_hole},
	{"names", "rename over an open file: what it has, what the name has", rename_over_open},
	{"names",
	 "rename: file to directory, directory to file, into itself, to a full one, of nothing, to "
	 "an empty one",
	 renames},
	{"names", "rename of f/, to g/, of d/ to e/, of e/.", rename_slashes},
	{"names", "RENAME_NOREPLACE, RENAME_EXCHANGE, with nothing, both", rename_flags},
	{"names",
	 "unlink of a directory, rmdir of a full one, of a file, unlink f/, rmdir x/., x/.., x/, "
	 "remove, of nothing",
	 removals},
	{"names", "mkdir d/, once more, below a file, e/., f/", directories_made},
	{"names", "link/../x: read, unlink", dots_through_link},
	{"attributes", "chmod 7777, fchmod 0, of a link itself, through it", modes},
	{"xattrs", "user.a set, got; an empty one; one that is not there; removed, again", values},
	{"xattrs", "sizes asked for; too little room", sizes},
	{"xattrs", "XATTR_REPLACE of none, XATTR_CREATE, again, XATTR_REPLACE, an unknown flag",
	 xattr_flags},
};

int main(int argc, char **argv)
{
	static char here[LONGEST];

	if (argc != 2 || fathom_fwd_init(&fwd, argv[1], NULL, NULL))
		return 2;
	outcome = here;
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		char name[20];

		snprintf(name, sizeof(name), "api%zu", i);
		if (fathom_fwd_mkdir(fwd, NULL, name, 0755, &top, NULL, NULL))
			return 1;
		outcome[0] = 0;
		checks[i].run();
		printf("%s\t%s\t%s\n", checks[i].subject, checks[i].what, outcome);
	}
	fathom_fwd_finalize(fwd);
	return 0;
}
