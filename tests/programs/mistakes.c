/* Accesses as they should not be made, each with the same work done well.
 *
 *	mistakes WHAT FILE
 *
 * The tests of findings run both under a slow store (tools/slow_store.c) and ask what Fathom concludes of them. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

enum { KIB = 1 << 10, MIB = 1 << 20, PIECE = 256 * KIB };

static _Alignas(4 * KIB) char data[MIB];

static int make(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	MUST(fd >= 0);
	return fd;
}

/* Bytes to the end of the file, in pieces of one size. */
static void append(int fd, long bytes, long piece)
{
	for (long done = 0; done < bytes; done += piece)
		MUST(write(fd, data, (size_t)piece) == piece);
}

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

static void checked(const char *path)
{
	int fd = make(path);

	append(fd, PIECE, PIECE);
	MUST(pread(fd, data, KIB, 0) == KIB);
	MUST(close(fd) == 0);
}

static void reread(const char *path, int times)
{
	int fd = make(path);

	append(fd, MIB, PIECE);
	for (int i = 0; i < times; i++) {
		for (long at = 0; at < MIB; at += PIECE)
			MUST(pread(fd, data, PIECE, at) == PIECE);
	}
	MUST(close(fd) == 0);
}

/* Written long ago: the page cache has none of it; or only just. Four times each MiB is read and worked on. */
static void read_written(const char *path, bool is_cold)
{
	int fd = make(path);
	volatile unsigned sum = 0;

	append(fd, 64l * MIB, MIB);
	MUST(fsync(fd) == 0);
	for (int turn = 0; turn < 4; turn++) {
		MUST(!is_cold || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
		MUST(lseek(fd, 0, SEEK_SET) == 0);
		while (read(fd, data, MIB) == MIB)
			for (long at = 0; at < MIB; at += 4)
				sum += (unsigned char)data[at];
	}
	MUST(close(fd) == 0);
}

/* Each page of a file, through a mapping: nothing of it is in the page cache. `advice` is what the kernel is told. */
static void map_cold(const char *path, int advice)
{
	enum { SIZE = 32 * MIB, PAGE = 4 * KIB };
	int fd = make(path);
	volatile unsigned sum = 0;

	append(fd, SIZE, MIB);
	MUST(fsync(fd) == 0);
	MUST(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
	const unsigned char *mapped = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	MUST(mapped != MAP_FAILED);
	MUST(madvise((void *)mapped, SIZE, advice) == 0);
	for (long at = 0; at < SIZE; at += PAGE)
		sum += mapped[at];
	MUST(munmap((void *)mapped, SIZE) == 0);
	MUST(close(fd) == 0);
}

static void map_random(const char *path)
{
	map_cold(path, MADV_RANDOM);
}

static void map_in_order(const char *path)
{
	map_cold(path, MADV_SEQUENTIAL);
}

static void nap(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000l};

	MUST(nanosleep(&time, NULL) == 0);
}

/* 64 MiB, and work of two seconds: after them; or by turns, while storage writes what is there. */
static void write_and_work(const char *path, bool is_burst)
{
	int fd = make(path);

	for (int i = 0; i < 64; i++) {
		append(fd, MIB, MIB);
		if (is_burst)
			continue;
		MUST(sync_file_range(fd, (off_t)i * MIB, MIB, SYNC_FILE_RANGE_WRITE) == 0);
		nap(2000 / 64);
	}
	if (is_burst)
		nap(2000);
	MUST(close(fd) == 0);
}

static void write_burst(const char *path)
{
	write_and_work(path, true);
}

static void write_by_turns(const char *path)
{
	write_and_work(path, false);
}

static void read_cold(const char *path)
{
	read_written(path, true);
}

static void read_warm(const char *path)
{
	read_written(path, false);
}

static void read_again(const char *path)
{
	reread(path, 40);
}

static void read_once(const char *path)
{
	reread(path, 1);
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

static void cut(const char *path)
{
	behind_header(path, 100);
}

static void whole(const char *path)
{
	behind_header(path, 4 * KIB);
}

static void by_stream(const char *path)
{
	FILE *stream = fopen(path, "w");

	MUST(stream);
	for (int i = 0; i < 4; i++)
		MUST(fwrite(data, PIECE, 1, stream) == 1);
	for (int i = 0; i < 4 * KIB; i++)
		MUST(fwrite(data, 512, 1, stream) == 1);
	MUST(fclose(stream) == 0);
}

static void by_large_stream(const char *path)
{
	FILE *stream = fopen(path, "w");

	MUST(stream);
	for (int i = 0; i < 12; i++)
		MUST(fwrite(data, PIECE, 1, stream) == 1);
	MUST(fclose(stream) == 0);
}

/* Text of numbers: buffered how? A buffer has a MiB. */
static void text(const char *path, int mode, char *buffer)
{
	FILE *stream = fopen(path, "w");

	MUST(stream && setvbuf(stream, buffer, mode, buffer ? MIB : 0) == 0);
	for (int i = 0; i < 16; i++)
		MUST(fwrite(data, PIECE, 1, stream) == 1);
	for (int i = 0; i < 80 * KIB; i++)
		MUST(fprintf(stream, "%.17g\n", i / 7.0) > 0);
	MUST(fclose(stream) == 0);
}

static void by_text(const char *path)
{
	text(path, _IOFBF, NULL);
}

static void by_buffered_text(const char *path)
{
	static char buffer[MIB];

	text(path, _IOFBF, buffer);
}

static void by_unbuffered_text(const char *path)
{
	text(path, _IONBF, NULL);
}

/* A million numbers, one by one as text, or all as they are in memory. */
static void numbers(const char *path, bool as_text)
{
	static double values[MIB];
	FILE *stream = fopen(path, "w");

	MUST(stream);
	for (int i = 0; i < MIB; i++)
		values[i] = i / 7.0;
	if (as_text)
		for (int i = 0; i < MIB; i++)
			MUST(fprintf(stream, "%.17g\n", values[i]) > 0);
	else
		MUST(fwrite(values, sizeof(values), 1, stream) == 1);
	MUST(fclose(stream) == 0);
}

static void numbers_as_text(const char *path)
{
	numbers(path, true);
}

static void numbers_in_binary(const char *path)
{
	numbers(path, false);
}

/* Lines of 20 bytes, flushed one by one, or all at the end. */
static void flushed(const char *path, bool each)
{
	FILE *stream = fopen(path, "w");

	MUST(stream);
	for (int i = 0; i < 10000; i++) {
		MUST(fwrite(data, 20, 1, stream) == 1);
		MUST(!each || fflush(stream) == 0);
	}
	MUST(fflush(stream) == 0 && fclose(stream) == 0);
}

static void flushed_lines(const char *path)
{
	flushed(path, true);
}

static void flushed_once(const char *path)
{
	flushed(path, false);
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

static void compute(void)
{
	struct timespec now, begin;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 5000000);
}

enum { TURNS = 40 };

static void turns(const char *path)
{
	int fd = make(path);

	for (int i = 0; i < TURNS; i++) {
		compute();
		append(fd, PIECE, PIECE);
	}
	MUST(close(fd) == 0);
}

static struct {
	int fd;
	sem_t full, empty;
} pipeline;

static void *write_behind(void *nothing)
{
	for (int i = 0; i < TURNS; i++) {
		sem_wait(&pipeline.full);
		append(pipeline.fd, PIECE, PIECE);
		sem_post(&pipeline.empty);
	}
	return nothing;
}

static void beside(const char *path)
{
	pthread_t writer;

	pipeline.fd = make(path);
	MUST(sem_init(&pipeline.full, 0, 0) == 0 && sem_init(&pipeline.empty, 0, 2) == 0);
	MUST(pthread_create(&writer, NULL, write_behind, NULL) == 0);
	for (int i = 0; i < TURNS; i++) {
		compute();
		sem_wait(&pipeline.empty);
		sem_post(&pipeline.full);
	}
	MUST(pthread_join(writer, NULL) == 0);
	MUST(close(pipeline.fd) == 0);
}

enum { READERS = 4, PIECES = 40, PART = 16 * KIB };

/* Whoever takes the byte out of the pipe may use the file's position. */
static struct {
	int fd;
	int token[2];
} table;

static off_t part_of(const void *reader, int i)
{
	return ((const char *)reader - data + (off_t)i * READERS) * PART;
}

static void *seek_and_read(void *reader)
{
	char part[PART];

	for (int i = 0; i < PIECES; i++) {
		MUST(read(table.token[0], part, 1) == 1);
		MUST(lseek(table.fd, part_of(reader, i), SEEK_SET) == part_of(reader, i));
		MUST(read(table.fd, part, PART) == PART);
		MUST(write(table.token[1], part, 1) == 1);
	}
	return NULL;
}

static void *read_at(void *reader)
{
	char part[PART];

	for (int i = 0; i < PIECES; i++)
		MUST(pread(table.fd, part, PART, part_of(reader, i)) == PART);
	return NULL;
}

static void by_threads(void *(*reader)(void *))
{
	pthread_t thread[READERS];

	for (int i = 0; i < READERS; i++)
		MUST(pthread_create(&thread[i], NULL, reader, data + i) == 0);
	for (int i = 0; i < READERS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
}

static void by_processes(void *(*reader)(void *))
{
	int status;

	for (int i = 0; i < READERS; i++) {
		pid_t child = fork();

		MUST(child >= 0);
		if (child == 0) {
			reader(data + i);
			exit(0);
		}
	}
	for (int i = 0; i < READERS; i++)
		MUST(wait(&status) > 0 && status == 0);
}

/* A file that several read part by part in turn; each is told its number as a place in `data`. */
static void read_by(const char *path, void (*several)(void *(*)(void *)), void *(*reader)(void *))
{
	table.fd = make(path);
	append(table.fd, READERS * PIECES * PART, PART);
	MUST(pipe(table.token) == 0 && write(table.token[1], data, 1) == 1);
	several(reader);
	MUST(close(table.fd) == 0);
}

static void one_position(const char *path)
{
	read_by(path, by_threads, seek_and_read);
}

static void own_positions(const char *path)
{
	read_by(path, by_threads, read_at);
}

static void inherited_position(const char *path)
{
	read_by(path, by_processes, seek_and_read);
}

static void no_position(const char *path)
{
	read_by(path, by_processes, read_at);
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

static const struct {
	const char *name;
	void (*make)(const char *path);
} works[] = {
	{"small", small},
	{"large", large},
	{"small-only", small_only},
	{"small-direct", small_direct},
	{"large-direct", large_direct},
	{"only-small-direct", only_small_direct},
	{"reopen", reopen},
	{"open-once", open_once},
	{"sync-by-open", sync_by_open},
	{"sync-at-end", sync_at_end},
	{"sync-each", sync_each},
	{"sync-once", sync_once},
	{"look-again", look_again},
	{"remember", remember},
	{"unchecked", unchecked},
	{"unopened", unopened},
	{"checked", checked},
	{"read-cold", read_cold},
	{"read-warm", read_warm},
	{"map-random", map_random},
	{"map-in-order", map_in_order},
	{"write-burst", write_burst},
	{"write-by-turns", write_by_turns},
	{"read-again", read_again},
	{"read-once", read_once},
	{"shuffled", shuffled},
	{"in-order", in_order},
	{"cut", cut},
	{"whole", whole},
	{"by-stream", by_stream},
	{"by-large-stream", by_large_stream},
	{"numbers-as-text", numbers_as_text},
	{"numbers-in-binary", numbers_in_binary},
	{"by-text", by_text},
	{"by-buffered-text", by_buffered_text},
	{"by-unbuffered-text", by_unbuffered_text},
	{"flushed-lines", flushed_lines},
	{"flushed-once", flushed_once},
	{"many-files", many_files},
	{"one-file", one_file},
	{"turns", turns},
	{"beside", beside},
	{"one-position", one_position},
	{"own-positions", own_positions},
	{"inherited-position", inherited_position},
	{"no-position", no_position},
	{"small-posts", small_posts},
	{"large-posts", large_posts},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(works) / sizeof(*works); i++) {
		if (strcmp(works[i].name, argv[1]) == 0) {
			works[i].make(argv[2]);
			return 0;
		}
	}
	fprintf(stderr, "usage: mistakes WHAT FILE\n");
	return 2;
}
