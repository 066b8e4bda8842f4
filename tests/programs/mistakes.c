/* Calls on descriptors: too small, too often, out of order, not looked at (mistakes.h). */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <sys/stat.h>

#include "mistakes.h"

static void in_pieces(const char *path, long piece)
{
	int fd = make(path);

	append(fd, 4 * PIECE, PIECE); /* what a large write costs is to be learnt */
	append(fd, MIB, piece);
	MUST(close(fd) == 0);
}

static void small(const char *path)
{
	in_pieces(path, KIB);
}

static void large(const char *path)
{
	in_pieces(path, PIECE);
}

/* Past the page cache: nobody gathers them. */
static void past_cache(const char *path, long first, long piece)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0600);

	MUST(fd >= 0);
	append(fd, first, MIB);
	append(fd, 4l * MIB, piece);
	MUST(close(fd) == 0);
}

static void small_direct(const char *path)
{
	past_cache(path, 4l * MIB, 4 * KIB);
}

static void large_direct(const char *path)
{
	past_cache(path, 4l * MIB, MIB);
}

static void only_small_direct(const char *path)
{
	past_cache(path, 0, 4 * KIB);
}

/* No other access says what a larger one would cost. */
static void small_only(const char *path)
{
	int fd = make(path);

	append(fd, MIB, KIB);
	MUST(close(fd) == 0);
}

static void reopen(const char *path)
{
	MUST(close(make(path)) == 0);
	for (int i = 0; i < 200; i++) {
		int fd = open(path, O_WRONLY | O_APPEND);

		MUST(fd >= 0);
		append(fd, PIECE / 4, PIECE / 4);
		MUST(close(fd) == 0);
	}
}

/* 20 files, each opened and asked for its size for each of its 100 pieces. */
static void reopen_each(const char *path)
{
	char name[512];
	struct stat there;

	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "%s.%d", path, i % 20);
		int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);

		MUST(fd >= 0 && stat(name, &there) == 0);
		append(fd, 16 * KIB, 16 * KIB);
		MUST(close(fd) == 0);
	}
}

static void open_once(const char *path)
{
	int fd = make(path);

	append(fd, 200 * PIECE / 4, PIECE / 4);
	MUST(close(fd) == 0);
}

static void sync_every(const char *path, int writes)
{
	int fd = make(path);

	for (int i = 1; i <= 100; i++) {
		append(fd, PIECE / 4, PIECE / 4);
		if (i % writes == 0)
			MUST(fsync(fd) == 0);
	}
	MUST(close(fd) == 0);
}

/* The same, by how it is open. */
static void sync_by_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DSYNC, 0600);

	MUST(fd >= 0);
	append(fd, 300l * 64 * KIB, 64 * KIB);
	MUST(close(fd) == 0);
}

static void sync_at_end(const char *path)
{
	int fd = make(path);

	append(fd, 300l * 64 * KIB, 64 * KIB);
	MUST(fdatasync(fd) == 0);
	MUST(close(fd) == 0);
}

static void sync_each(const char *path)
{
	sync_every(path, 1);
}

static void sync_once(const char *path)
{
	sync_every(path, 100);
}

/* A file that is looked for in 20 places, again and again. */
static void look(const char *path, int times)
{
	char name[512];

	for (int i = 0; i < times; i++) {
		for (int place = 0; place < 20; place++) {
			snprintf(name, sizeof(name), "%s.%d", path, place);
			MUST(open(name, O_RDONLY) < 0);
		}
	}
	int fd = make(path);
	append(fd, PIECE, PIECE);
	MUST(close(fd) == 0);
}

static void look_again(const char *path)
{
	look(path, 50);
}

static void remember(const char *path)
{
	look(path, 0);
}

/* Data that were never read, and nobody looks. */
static void unchecked(const char *path)
{
	int fd = make(path), wrong = open(path, O_WRONLY);

	append(fd, PIECE, PIECE);
	MUST(read(wrong, data, KIB) < 0);
	MUST(close(fd) == 0 && close(wrong) == 0);
}

/* An open that failed, and nobody looks. */
static void unopened(const char *path)
{
	int wrong = open(path, O_WRONLY);

	MUST(wrong < 0);
	for (int i = 0; i < 84; i++)
		MUST(write(wrong, data, KIB) < 0);
	MUST(close(wrong) < 0);
}

/* What the kernel does not copy to the end of a file (O_APPEND) is read and written. */
static void refused(const char *path)
{
	char name[512];
	int from = make(path), to;

	snprintf(name, sizeof(name), "%s.log", path);
	MUST((to = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600)) >= 0);
	append(from, 64 * KIB, 64 * KIB);
	for (int i = 0; i < 100; i++) {
		MUST(lseek(from, 0, SEEK_SET) == 0);
		MUST(copy_file_range(from, NULL, to, NULL, 64 * KIB, 0) < 0 && errno == EBADF);
		MUST(read(from, data, 64 * KIB) == 64 * KIB);
		append(to, 64 * KIB, 64 * KIB);
	}
	MUST(close(from) == 0 && close(to) == 0);
}

static void checked(const char *path)
{
	int fd = make(path);

	append(fd, PIECE, PIECE);
	MUST(pread(fd, data, KIB, 0) == KIB);
	MUST(close(fd) == 0);
}

/* 128 pieces of 64 KiB: 32 in order, then the others `step` apart. */
static void in_steps(const char *path, int step)
{
	enum { ALL = 128, FIRST = 32, REST = ALL - FIRST, BYTES = 64 * KIB };
	int fd = make(path);

	append(fd, (long)ALL * BYTES, MIB);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	for (int i = 0; i < FIRST; i++)
		MUST(read(fd, data, BYTES) == BYTES);
	for (int i = 0; i < REST; i++)
		MUST(pread(fd, data, BYTES, (off_t)(FIRST + i * step % REST) * BYTES) == BYTES);
	MUST(close(fd) == 0);
}

static void shuffled(const char *path)
{
	in_steps(path, 35);
}

static void in_order(const char *path)
{
	in_steps(path, 1);
}

/* 20 records at pages, then 80 behind a header of `header` bytes. */
static void behind_header(const char *path, int header)
{
	enum { BYTES = 64 * KIB };
	int fd = make(path);

	for (int i = 0; i < 100; i++) {
		off_t at = (off_t)i * BYTES + (i < 20 ? 0 : header);

		MUST(pwrite(fd, data, BYTES, at) == BYTES);
	}
	MUST(close(fd) == 0);
}

/* 4 MiB in blocks, taken apart in memory into numbers of 16 bytes; before each the position is asked for, or not. */
static void take_apart(const char *path, bool asks)
{
	int fd = make(path);
	volatile unsigned sum = 0;
	ssize_t n;

	append(fd, 4l * MIB, MIB);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	while ((n = read(fd, data, 64 * KIB)) > 0)
		for (ssize_t at = 0; at < n; at += 16) {
			MUST(!asks || lseek(fd, 0, SEEK_CUR) > 0);
			sum += (unsigned char)data[at];
		}
	MUST(close(fd) == 0);
}

static void ask_position(const char *path)
{
	take_apart(path, true);
}

static void know_position(const char *path)
{
	take_apart(path, false);
}

static void cut(const char *path)
{
	behind_header(path, 100);
}

static void whole(const char *path)
{
	behind_header(path, 4 * KIB);
}

static void many_files(const char *path)
{
	char name[512];
	struct stat there;

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "%s.%d", path, i);
		MUST(stat(name, &there) < 0);
		int fd = make(name);
		append(fd, 64 * KIB, 64 * KIB);
		MUST(close(fd) == 0);
	}
}

static void one_file(const char *path)
{
	int fd = make(path);

	append(fd, 100 * 64 * KIB, 64 * KIB);
	MUST(close(fd) == 0);
}

/* Asynchronous writes of one size, each awaited when the next one is ready. */
static void post_in_pieces(const char *path, size_t piece)
{
	int fd = make(path);

	for (long at = 0; at < MIB; at += (long)piece) {
		struct aiocb block = {
			.aio_fildes = fd, .aio_buf = data, .aio_nbytes = piece, .aio_offset = at};
		const struct aiocb *const list[] = {&block};

		MUST(aio_write(&block) == 0);
		while (aio_error(&block) == EINPROGRESS)
			MUST(aio_suspend(list, 1, NULL) == 0 || errno == EINTR);
		MUST(aio_return(&block) == (ssize_t)piece);
	}
	MUST(close(fd) == 0);
}

static void small_posts(const char *path)
{
	post_in_pieces(path, 512);
}

static void large_posts(const char *path)
{
	post_in_pieces(path, PIECE);
}

static const struct work works[] = {
	{"small", small},
	{"large", large},
	{"small-only", small_only},
	{"small-direct", small_direct},
	{"large-direct", large_direct},
	{"only-small-direct", only_small_direct},
	{"reopen", reopen},
	{"open-once", open_once},
	{"reopen-each", reopen_each},
	{"sync-by-open", sync_by_open},
	{"sync-at-end", sync_at_end},
	{"sync-each", sync_each},
	{"sync-once", sync_once},
	{"look-again", look_again},
	{"remember", remember},
	{"unchecked", unchecked},
	{"unopened", unopened},
	{"checked", checked},
	{"refused", refused},
	{"shuffled", shuffled},
	{"in-order", in_order},
	{"ask-position", ask_position},
	{"know-position", know_position},
	{"cut", cut},
	{"whole", whole},
	{"many-files", many_files},
	{"one-file", one_file},
	{"small-posts", small_posts},
	{"large-posts", large_posts},
};

int main(int argc, char **argv)
{
	return work(works, sizeof(works) / sizeof(*works), argc, argv);
}
