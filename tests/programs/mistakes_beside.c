/* Several that use one file, and work beside I/O (mistakes.h). */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <time.h>

#include "mistakes.h"

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

static const struct work works[] = {
	{"turns", turns},
	{"beside", beside},
	{"one-position", one_position},
	{"own-positions", own_positions},
	{"inherited-position", inherited_position},
	{"no-position", no_position},
};

int main(int argc, char **argv)
{
	return work(works, sizeof(works) / sizeof(*works), argc, argv);
}
