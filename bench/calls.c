/* calls: nanoseconds per 8-byte pwrite and pread, as the calling program sees them.
 *
 *	calls FILE THREADS BATCHES
 *
 * Every thread runs BATCHES batches of 1,000 calls of each kind on one shared descriptor, in a region
 * of its own. Prints one line per kind: name, then minimum, median and mean of the batches of all
 * threads, in nanoseconds per call. The minimum is the call's own cost on a noisy machine; the mean
 * has everything in it (sealing of chunks, page faults, other people's work). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	CALLS = 1000, /* in a batch */
	BYTES = 8,    /* in a call */
	KINDS = 2,
	MOST_THREADS = 64,
};

typedef void batch_function(int fd, off_t start);

struct worker {
	pthread_t thread;
	pthread_barrier_t *barrier;
	int fd;
	int number;
	size_t batches;
	double *nanoseconds[KINDS]; /* per call, one for each batch */
};

static void fail(const char *what)
{
	fprintf(stderr, "calls: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void write_batch(int fd, off_t start)
{
	uint64_t value = (uint64_t)start;

	for (off_t i = 0; i < CALLS; i++)
		if (pwrite(fd, &value, BYTES, start + i * BYTES) != BYTES)
			fail("pwrite");
}

/* What was read is not looked at: /dev/null gives nothing. */
static void read_batch(int fd, off_t start)
{
	uint64_t value;

	for (off_t i = 0; i < CALLS; i++)
		if (pread(fd, &value, BYTES, start + i * BYTES) < 0)
			fail("pread");
}

static const struct {
	const char *name;
	batch_function *run;
} kinds[KINDS] = {{"pwrite", write_batch}, {"pread", read_batch}};

static void *work(void *argument)
{
	struct worker *w = argument;
	off_t start = (off_t)w->number * CALLS * BYTES;

	pthread_barrier_wait(w->barrier);
	for (size_t batch = 0; batch < w->batches; batch++) {
		for (int kind = 0; kind < KINDS; kind++) {
			uint64_t began = now();

			kinds[kind].run(w->fd, start);
			w->nanoseconds[kind][batch] = (double)(now() - began) / CALLS;
		}
	}
	return NULL;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const char *name, double *nanoseconds, size_t n)
{
	double sum = 0;

	qsort(nanoseconds, n, sizeof(*nanoseconds), ascending);
	for (size_t i = 0; i < n; i++)
		sum += nanoseconds[i];
	printf("%s %.2f %.2f %.2f\n", name, nanoseconds[0], nanoseconds[n / 2], sum / (double)n);
}

static void start_workers(struct worker *worker, int threads, pthread_barrier_t *barrier, int fd,
			  size_t batches, double *const results[KINDS])
{
	for (int i = 0; i < threads; i++) {
		worker[i] = (struct worker){
			.barrier = barrier, .fd = fd, .number = i, .batches = batches};
		for (int kind = 0; kind < KINDS; kind++)
			worker[i].nanoseconds[kind] = results[kind] + (size_t)i * batches;
		errno = pthread_create(&worker[i].thread, NULL, work, &worker[i]);
		if (errno)
			fail("pthread_create");
	}
}

static void measure(int fd, int threads, size_t batches)
{
	struct worker worker[MOST_THREADS];
	double *results[KINDS];
	pthread_barrier_t barrier;

	for (int kind = 0; kind < KINDS; kind++) {
		results[kind] = calloc((size_t)threads * batches, sizeof(double));
		if (!results[kind])
			fail("results");
	}
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	start_workers(worker, threads, &barrier, fd, batches, results);
	for (int i = 0; i < threads; i++)
		pthread_join(worker[i].thread, NULL);
	for (int kind = 0; kind < KINDS; kind++) {
		report(kinds[kind].name, results[kind], (size_t)threads * batches);
		free(results[kind]);
	}
	pthread_barrier_destroy(&barrier);
}

int main(int argc, char **argv)
{
	int threads = argc == 4 ? atoi(argv[2]) : 0;
	long batches = argc == 4 ? atol(argv[3]) : 0;
	int fd;

	if (threads < 1 || threads > MOST_THREADS || batches < 1) {
		fprintf(stderr, "usage: calls FILE THREADS BATCHES (1..%d threads, 1.. batches)\n",
			MOST_THREADS);
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		fail(argv[1]);
	measure(fd, threads, (size_t)batches);
	return 0;
}
