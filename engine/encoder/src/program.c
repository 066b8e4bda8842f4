/* recorder: makes calls as a wrapper would, and prints each as the tables should show it.
 *
 *	recorder SEED CALLS THREADS END
 *	recorder meet FILE RANK RANKS TIMES
 *
 * END: exit (in order), kill (SIGKILL with calls open), jump (longjmp out of calls now and then, then exit).
 * meet: RANKS programs open files together, TIMES times; FILE is where they wait for each other. A line is then:
 * pid, seq, and the unfaked CLOCK_MONOTONIC right before the call.
 * Else a line is: tid seq parent depth op object began ended error fields..., parent -1 for none. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/call.h"
#include "core/process.h"
#include "edges/edges.h"

__thread struct entry_site entry_site; /* no Fortran here */

const struct op ops[] = {
	{.layer_name = "hdf5",
	 .name = "outer",
	 .kind = "write",
	 .fields = "size,bytes",
	 .layer = 2,
	 .nfields = 2},
	{.layer_name = "mpiio",
	 .name = "middle",
	 .kind = "write",
	 .fields = "size,offset,bytes,flags",
	 .layer = 1,
	 .nfields = 4},
	{.layer_name = "posix",
	 .name = "inner",
	 .kind = "read",
	 .fields = "size,offset,bytes",
	 .layer = 0,
	 .nfields = 3,
	 .tracked = 1},
	{.layer_name = "posix", .name = "plain", .kind = "meta", .fields = ""},
	{.layer_name = "mpiio",
	 .name = "open",
	 .kind = "open",
	 .fields = "result",
	 .layer = 1,
	 .nfields = 1,
	 .collective = 1},
};
enum { RANDOM_OPS = 4, OPEN = 4 };
const uint32_t ops_count = sizeof(ops) / sizeof(ops[0]);

struct job {
	uint64_t random;
	long calls, jump_at;
	FILE *truth;
	char *text;
	size_t length;
	uint64_t parents[64];
	jmp_buf back;
	uint32_t object;
};

static const char *ending;
static pthread_barrier_t all_done;

static uint64_t next(struct job *j)
{
	uint64_t z = j->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void define_object(struct job *j)
{
	struct call c;
	struct object_def def = {.name = "/data/file",
				 .numbers = 10,
				 .number = {3, 0100644, 8, 1, 77, 1700000000, 5, 2, 0, 0}};

	if (!call_enter(&c, 3, 0, 0, 0, __builtin_frame_address(0), __builtin_return_address(0)))
		return;
	j->object = object_define(&c, OBJECT_DESCRIPTOR, &def);
	call_leave(&c, ticks_now());
	fprintf(j->truth, "%d %llu -1 0 3 0 %llu 0 0\n", (int)syscall(SYS_gettid),
		(unsigned long long)c.seq, (unsigned long long)c.began);
}

static __attribute__((noinline)) void make_call(struct job *j, uint32_t depth)
{
	uint32_t op = next(j) % RANDOM_OPS;
	struct call c;
	uint64_t ended;

	j->calls--;
	if (!call_enter(&c, op, op == 3 ? 0 : j->object, 4096, 8192, __builtin_frame_address(0),
			__builtin_return_address(0)))
		return;
	j->parents[depth] = c.seq;
	while (depth < 20 && j->calls > 0 && next(j) % 5 < 2)
		make_call(j, depth + 1);
	if (j->jump_at && depth > 1 && next(j) % 50 == 0)
		longjmp(j->back, 1);
	if (strcmp(ending, "kill") == 0 && j->calls <= 0)
		raise(SIGKILL);
	for (uint32_t i = 0; i < ops[op].nfields; i++)
		c.field[i] = i == 1 ? (int64_t)(c.seq * 4096)
				    : (next(j) % 4 ? 4096 : (int64_t)next(j) >> next(j) % 64);
	c.error = next(j) % 40 ? 0 : (int32_t)(next(j) % 130) + 1;
	ended = ticks_now();
	call_leave(&c, ended);
	fprintf(j->truth, "%d %llu %lld %u %u %u %llu %llu %d", (int)syscall(SYS_gettid),
		(unsigned long long)c.seq, depth ? (long long)j->parents[depth - 1] : -1ll, depth,
		op, c.object, (unsigned long long)c.began, (unsigned long long)ended, c.error);
	for (uint32_t i = 0; i < ops[op].nfields; i++)
		fprintf(j->truth, " %lld", (long long)c.field[i]);
	fputc('\n', j->truth);
}

static void *work(void *argument)
{
	struct job *j = argument;

	define_object(j);
	while (j->calls > 0)
		if (setjmp(j->back) == 0)
			make_call(j, 0);
	fflush(j->truth);
	pthread_barrier_wait(&all_done);
	return NULL;
}

/* Waits until all have come here `times` times. */
static void wait_for_all(_Atomic long *arrived, long ranks, long times)
{
	atomic_fetch_add(arrived, 1);
	while (atomic_load(arrived) < ranks * times)
		sched_yield();
}

static int meet(const char *file, uint32_t rank, uint32_t ranks, long times)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);
	_Atomic long *arrived = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, 4096) == 0)
		arrived = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (arrived == MAP_FAILED || !process_begin())
		return fputs("recorder: cannot meet\n", stderr), 1;
	for (long i = 0; i < times; i++) {
		struct object_def def = {
			.name = "/data/shared", .numbers = 2, .number = {0, ranks}};
		struct group_def group = {
			.hash = 4711, .size = ranks, .ordinal = (uint32_t)i, .own = rank};
		struct timespec now;
		struct call c;

		usleep((useconds_t)((i * 7 + rank * 13) % 20 * 100));
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (!call_enter(&c, OPEN, 0, 0, 0, __builtin_frame_address(0),
				__builtin_return_address(0)))
			return 1;
		wait_for_all(arrived, ranks, i + 1);
		c.field[0] = 0;
		c.object = object_define(&c, OBJECT_MPI_FILE, &def);
		object_group(&c, c.object, &group);
		call_leave(&c, ticks_now());
		printf("%d %llu %llu\n", (int)getpid(), (unsigned long long)c.seq,
		       (unsigned long long)now.tv_sec * 1000000000ull +
			       (unsigned long long)now.tv_nsec);
	}
	process_end();
	return 0;
}

int main(int argc, char **argv)
{
	long threads = argc == 5 ? atol(argv[3]) : 0;
	pthread_t id[64];
	struct job *jobs;

	if (argc == 6 && strcmp(argv[1], "meet") == 0)
		return meet(argv[2], (uint32_t)atol(argv[3]), (uint32_t)atol(argv[4]),
			    atol(argv[5]));
	if (threads < 1 || threads > 64)
		return fputs("usage: recorder SEED CALLS THREADS exit|kill|jump\n", stderr), 2;
	ending = argv[4];
	jobs = calloc((size_t)threads, sizeof(*jobs));
	pthread_barrier_init(&all_done, NULL, (unsigned)threads);
	if (!jobs || !process_begin())
		return fputs("recorder: nothing is recorded\n", stderr), 1;
	for (long i = 0; i < threads; i++) {
		jobs[i].random = strtoull(argv[1], NULL, 10) + (uint64_t)i;
		jobs[i].calls = atol(argv[2]);
		jobs[i].jump_at = strcmp(ending, "jump") == 0;
		/* A killed program's truth must be out before: unbuffered. */
		jobs[i].truth = strcmp(ending, "kill") == 0
					? stdout
					: open_memstream(&jobs[i].text, &jobs[i].length);
		setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	}
	for (long i = 1; i < threads; i++)
		pthread_create(&id[i], NULL, work, &jobs[i]);
	work(&jobs[0]);
	for (long i = 1; i < threads; i++)
		pthread_join(id[i], NULL);
	process_end();
	for (long i = 0; i < threads; i++)
		if (jobs[i].text)
			fwrite(jobs[i].text, 1, jobs[i].length, stdout);
	return 0;
}
