/* Accesses of all kinds, the same in every run: patterns mix|sizes|files|phases DIRECTORY [NUMBER]
 *
 *	mix     three threads: consecutive, strided, backward, odd buffers, vectors, appends, failures
 *	sizes   10,000 sizes once each, then 10,000 writes of 4,096 bytes
 *	files   NUMBER files, each written twice and read; the last hundred stay open and take turns
 *	phases  a row of accesses; the level goes between file and call (NUMBER 0: not) in the middle of calls
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "must.h"

enum { STEPS = 8000, OPEN = 100 };
static _Alignas(64) char data[1 << 16];

static int file(const char *name, int number, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s-%d", name, number);
	fd = open(path, O_RDWR | O_CREAT | flags, 0644);
	MUST(fd >= 0);
	return fd;
}

static uint64_t next(uint64_t *seed, uint64_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % below;
}

static void vectors(int fd, uint64_t at)
{
	struct iovec part[2] = {{data, 24}, {data + 4096, 40}};

	MUST(pwritev(fd, part, 2, (off_t)at) == 64);
	MUST(preadv(fd, part, 1, (off_t)at) == 24);
}

/* What a step does depends on the seed alone. */
static void step(int fd, int append, uint64_t *seed, uint64_t *at)
{
	char *const buffer = data + (next(seed, 8) == 0);
	const uint64_t size = 1ull << next(seed, 14);

	switch (next(seed, 10)) {
	case 0:
		*at = next(seed, 1 << 20);
		break;
	case 1:
		MUST(pread(fd, buffer, size, (off_t)*at) >= 0);
		break;
	case 2:
		vectors(fd, *at);
		break;
	case 3:
		MUST(write(append, buffer, size) == (ssize_t)size);
		break;
	case 4:
		MUST(write(fd, buffer, 100) == 100);
		break;
	case 5:
		MUST(read(fd, buffer, 512) >= 0);
		break;
	case 6:
		MUST(pwrite(-1, buffer, size, 0) == -1);
		MUST(lseek(fd, 0, SEEK_SET) == 0);
		break;
	default:
		for (int i = 0; i < 3; i++, *at += 10000)
			MUST(pwrite(fd, buffer, size, (off_t)*at) == (ssize_t)size);
	}
}

static void *mix(void *number)
{
	const int n = (int)(intptr_t)number;
	const int fd[2] = {file("mix", 2 * n, 0), file("mix", 2 * n + 1, 0)};
	const int append = file("append", n, O_APPEND);
	uint64_t seed = (uint64_t)n + 1, at = 0;

	for (int i = 0; i < STEPS; i++)
		step(fd[next(&seed, 2)], append, &seed, &at);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[2];

	for (intptr_t i = 0; i < 2; i++)
		MUST(pthread_create(&thread[i], NULL, mix, (void *)(i + 1)) == 0);
	mix(NULL);
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
}

static void sizes(void)
{
	const int fd = file("sizes", 0, 0);

	for (size_t size = 1; size <= 10000; size++)
		MUST(pwrite(fd, data, size + 5000, 0) == (ssize_t)size + 5000);
	for (int i = 0; i < 10000; i++)
		MUST(pwrite(fd, data, 4096, (off_t)i * 4096) == 4096);
}

static void files(int number)
{
	int last[OPEN];

	for (int i = 0; i < number; i++) {
		const int fd = file("many", i, 0);

		if (i >= OPEN)
			close(last[i % OPEN]);
		last[i % OPEN] = fd;
		MUST(pwrite(fd, data, 16, 0) == 16);
		MUST(pwrite(last[i / 2 % OPEN % (i + 1)], data, 16, 16) == 16);
		MUST(pread(fd, data, 16, 0) == 16);
	}
	for (int round = 0; round < 30; round++)
		for (int i = 0; i < OPEN && i < number; i++)
			MUST(pwrite(last[i], data, 8, 32 + 8 * round) == 8);
}

/* Bits 32 and 33 of the gate are the level: docs/control-page.md. */
static _Atomic uint64_t *gate(void)
{
	static _Atomic uint64_t none;
	char path[4096];
	void *page;
	int fd;

	snprintf(path, sizeof(path), "%s/control", getenv("FATHOM_RING") ?: "");
	fd = open(path, O_RDWR);
	if (fd < 0)
		return &none;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(page != MAP_FAILED && close(fd) == 0);
	return (_Atomic uint64_t *)((char *)page + 16);
}

static int pipe_ends[2];

static void *reads_pipe(void *unused)
{
	char byte;

	for (int i = 0; i < 20; i++)
		MUST(read(pipe_ends[0], &byte, 1) == 1);
	return unused;
}

static void phases(int change)
{
	_Atomic uint64_t *level = gate();
	const int fd = file("phases", 0, 0);
	uint64_t seed = 7, at = 0;
	pthread_t thread;

	MUST(pipe(pipe_ends) == 0);
	MUST(pthread_create(&thread, NULL, reads_pipe, NULL) == 0);
	for (int i = 0; i < 20; i++) {
		for (uint64_t n = next(&seed, 40); n > 0; n--)
			step(fd, fd, &seed, &at);
		if (change) /* 2 is file, 3 is call; the other thread is inside a read */
			*level = (*level & ~(3ull << 32)) | (uint64_t)(2 + i % 2) << 32;
		MUST(write(pipe_ends[1], data, 1) == 1);
	}
	MUST(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
	const int number = argc > 3 ? atoi(argv[3]) : 0;

	MUST(argc > 2 && chdir(argv[2]) == 0);
	if (strcmp(argv[1], "mix") == 0)
		threads();
	else if (strcmp(argv[1], "sizes") == 0)
		sizes();
	else if (strcmp(argv[1], "files") == 0)
		files(number);
	else
		phases(number);
	return 0;
}
