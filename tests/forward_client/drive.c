/* The client against a real server, one scenario by name: drive SCENARIO ADDRESS [arguments]. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../core/check.h"
#include "../core/progress.h"
#include "fathom_fwd.h"
#include "fault.h"

enum {
	READ_WRITE = FATHOM_FWD_CREATE | FATHOM_FWD_READ | FATHOM_FWD_WRITE,
	MOST = 1 << 20, /* bytes of a file of the random test */
	VECTOR = 8,
};

static struct fathom_fwd_hints hints;

#define FINE(call) fine(call, #call, __LINE__)

static void fine(int error, const char *call, int line)
{
	check(!error, hints.error.code == error ? hints.error.what : call, __FILE__, line);
}

static struct fathom_fwd *connect_to(const char *address)
{
	struct fathom_fwd_options options = {.token_file = getenv("TOKEN"),
					     .munge = getenv("MUNGE"),
					     .checksum = !getenv("PLAIN"),
					     .compress = getenv("COMPRESS") != NULL};
	struct fathom_fwd_error error = {.code = 0};
	struct fathom_fwd *c;

	hints.timeout = getenv("TIMEOUT") ? (uint32_t)atoi(getenv("TIMEOUT")) : 20000;
	if (fathom_fwd_init(&c, address, &options, &error)) {
		printf("%d %s\n", error.code, error.what);
		exit(3);
	}
	return c;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct fathom_fwd_handle open_file(struct fathom_fwd *c, const char *name)
{
	struct fathom_fwd_handle file;

	FINE(fathom_fwd_open(c, NULL, name, READ_WRITE, 0600, &file, NULL, &hints));
	return file;
}

/* ---- fsx: random operations on a forwarded file and on a local one, always equal ---- */

struct pair {
	struct fathom_fwd *c;
	struct fathom_fwd_handle file;
	int local;
	uint64_t seed;
	uint8_t *ours, *theirs;
};

static void turn_round(struct fathom_fwd_extent *extents, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		struct fathom_fwd_extent swapped = extents[i];

		extents[i] = extents[n - 1 - i];
		extents[n - 1 - i] = swapped;
	}
}

/* Extents without overlap, up or down the file, and memory of the same length cut in other places. */
static uint32_t random_vectors(struct pair *p, uint8_t *base, struct fathom_fwd_extent *extents,
			       struct iovec *memory, uint32_t *memories)
{
	uint32_t n = 1 + (uint32_t)random_below(&p->seed, VECTOR), m = 0;
	uint64_t at = random_below(&p->seed, MOST / 2), total = 0, cut;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t most = random_below(&p->seed, 4) ? 3000 : MOST / (2 * VECTOR);

		extents[i].length = random_below(&p->seed, most);
		extents[i].offset = at;
		at += extents[i].length + random_below(&p->seed, 100);
		total += extents[i].length;
	}
	for (uint64_t done = 0; m < VECTOR - 1 && done < total; done += cut) {
		cut = random_below(&p->seed, total - done + 1);
		memory[m++] = (struct iovec){base, cut};
		base += cut;
	}
	cut = total;
	for (uint32_t i = 0; i < m; i++)
		cut -= memory[i].iov_len;
	memory[m++] = (struct iovec){base, cut};
	*memories = m;
	if (random_below(&p->seed, 2))
		turn_round(extents, n);
	return n;
}

static void random_write(struct pair *p)
{
	const char *runs = getenv("RUNS"); /* of equal bytes */
	struct fathom_fwd_extent extents[VECTOR];
	struct iovec memory[VECTOR];
	uint32_t memories, n = random_vectors(p, p->ours, extents, memory, &memories);
	uint64_t done, total = 0;

	hints.level = (uint8_t)random_below(&p->seed, 3);
	for (uint32_t i = 0; i < n; i++) {
		for (uint64_t b = 0; b < extents[i].length; b++)
			p->ours[total + b] =
				runs ? (uint8_t)(b >> 9) : (uint8_t)random_next(&p->seed);
		CHECK(pwrite(p->local, p->ours + total, extents[i].length,
			     (off_t)extents[i].offset) == (ssize_t)extents[i].length);
		total += extents[i].length;
	}
	FINE(fathom_fwd_write(p->c, &p->file, memory, memories, extents, n, &done, &hints));
	CHECK(done == total);
	hints.level = 0;
}

static void random_read(struct pair *p)
{
	struct fathom_fwd_extent extents[VECTOR];
	struct iovec memory[VECTOR];
	uint32_t memories, n = random_vectors(p, p->ours, extents, memory, &memories);
	uint64_t done, total = 0, place = 0;

	FINE(fathom_fwd_read(p->c, &p->file, memory, memories, extents, n, &done, &hints));
	for (uint32_t i = 0; i < n; i++) {
		ssize_t got =
			pread(p->local, p->theirs, extents[i].length, (off_t)extents[i].offset);

		CHECK(got >= 0 && !memcmp(p->theirs, p->ours + place, (size_t)got));
		place += extents[i].length;
		total += (uint64_t)got;
	}
	CHECK(done == total);
}

static void random_size(struct pair *p)
{
	uint64_t size = random_below(&p->seed, MOST);
	struct fathom_fwd_attr attr;
	struct stat about;

	if (random_below(&p->seed, 2)) {
		FINE(fathom_fwd_resize(p->c, &p->file, size, &hints));
		CHECK(!ftruncate(p->local, (off_t)size));
	}
	FINE(fathom_fwd_getattr(p->c, &p->file, &attr, &hints));
	CHECK(!fstat(p->local, &about) && attr.size == (uint64_t)about.st_size);
}

/* fsx ADDRESS LOCAL-FILE STEPS SEED */
static void fsx(const char *address, char **words)
{
	struct pair p = {.c = connect_to(address), .seed = strtoull(words[2], NULL, 10)};
	long steps = atol(words[1]);

	p.file = open_file(p.c, "fsx");
	FINE(fathom_fwd_resize(p.c, &p.file, 0, &hints));
	p.local = open(words[0], O_RDWR | O_CREAT | O_TRUNC, 0600);
	p.ours = malloc(2 * MOST);
	p.theirs = malloc(MOST);
	for (long step = 0; step < steps; step++) {
		uint64_t what = random_below(&p.seed, 10);

		progress(step, steps);
		if (what < 4)
			random_write(&p);
		else if (what < 8)
			random_read(&p);
		else
			random_size(&p);
	}
	FINE(fathom_fwd_commit(p.c, &p.file, FATHOM_FWD_SYNCED, NULL, &hints));
	FINE(fathom_fwd_release(p.c, &p.file, &hints));
	fathom_fwd_finalize(p.c);
	close(p.local);
	free(p.ours);
	free(p.theirs);
}

/* ---- large: more than a request holds, both ways ---- */

static void large(const char *address, char **words)
{
	size_t bytes = (size_t)atol(words[0]);
	struct fathom_fwd *c = connect_to(address);
	struct fathom_fwd_handle file = open_file(c, "large");
	struct fathom_fwd_extent all = {0, bytes};
	uint8_t *out = malloc(bytes), *in = calloc(1, bytes);
	uint64_t seed = 3, done;

	for (size_t i = 0; i < bytes; i++)
		out[i] = (uint8_t)random_next(&seed);
	FINE(fathom_fwd_write(c, &file, &(struct iovec){out, bytes}, 1, &all, 1, &done, &hints));
	CHECK(done == bytes);
	FINE(fathom_fwd_read(c, &file, &(struct iovec){in, bytes}, 1, &all, 1, &done, &hints));
	CHECK(done == bytes && !memcmp(in, out, bytes));
	fathom_fwd_finalize(c);
	free(out);
	free(in);
}

/* ---- threads: one connection; each its own part, posted by fours, read back ---- */

enum { THREADS = 6, ROUNDS = 60, POSTED = 4, BLOCK = 40000 };

static struct shared {
	struct fathom_fwd *c;
	struct fathom_fwd_handle file;
} shared;

static void *worker(void *number)
{
	struct fathom_fwd_request *posted[POSTED];
	struct fathom_fwd_hints own = {.timeout = 20000};
	uint8_t *out = malloc(BLOCK), *in = malloc(BLOCK);
	uint64_t base = (uint64_t)(uintptr_t)number * BLOCK, part = BLOCK / POSTED, done;

	for (int round = 0; round < ROUNDS; round++) {
		struct fathom_fwd_extent all = {base, BLOCK};

		memset(out, round + (int)(uintptr_t)number, BLOCK);
		for (uint64_t i = 0; i < POSTED; i++) {
			struct fathom_fwd_extent e = {base + i * part, part};

			CHECK(!fathom_fwd_post_write(shared.c, &shared.file,
						     &(struct iovec){out + i * part, part}, 1, &e,
						     1, &posted[i], &own));
		}
		for (int i = 0; i < POSTED; i++) {
			struct fathom_fwd_result result;
			int ready = 0, error = 0;

			while (i % 2 && !ready)
				error = fathom_fwd_test(shared.c, posted[i], &ready, &result, &own);
			if (!ready)
				error = fathom_fwd_wait(shared.c, posted[i], &result, &own);
			check(!error, own.error.what, __FILE__, __LINE__);
			CHECK(result.number == part);
		}
		CHECK(!fathom_fwd_read(shared.c, &shared.file, &(struct iovec){in, BLOCK}, 1, &all,
				       1, &done, &own));
		CHECK(done == BLOCK && !memcmp(in, out, BLOCK));
	}
	free(out);
	free(in);
	return NULL;
}

static void threads(const char *address, char **words)
{
	pthread_t thread[THREADS];

	(void)words;
	shared.c = connect_to(address);
	shared.file = open_file(shared.c, "threads");
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, worker, (void *)i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	fathom_fwd_finalize(shared.c);
}

/* ---- pipeline: ADDRESS STEPS SEED: many requests in flight on the same bytes, waited for in any order ---- */

enum { FLIGHT = 24, AREA = 300000, LONGEST = 70000 };

struct flight {
	struct fathom_fwd_request *request;
	uint64_t number; /* what it is to say */
	uint8_t *memory, *wanted;
};

static struct pipeline {
	struct fathom_fwd *c;
	struct fathom_fwd_handle file, log;
	uint64_t seed, appended;
	uint8_t model[AREA]; /* the file, once all that was posted is done */
	struct flight flight[FLIGHT];
} pipe_line;

static void post_one(struct pipeline *p, struct flight *f)
{
	uint64_t most = random_below(&p->seed, 2) ? LONGEST : 2000;
	struct fathom_fwd_extent e = {random_below(&p->seed, AREA - LONGEST),
				      1 + random_below(&p->seed, most)};
	struct iovec memory = {malloc(e.length), e.length};
	uint64_t what = random_below(&p->seed, 3);

	*f = (struct flight){.memory = memory.iov_base, .number = e.length};
	memset(f->memory, (int)random_next(&p->seed), e.length);
	hints.level = (uint8_t)random_below(&p->seed, 3);
	if (what == 0) {
		FINE(fathom_fwd_post_write(p->c, &p->file, &memory, 1, &e, 1, &f->request, &hints));
		memcpy(p->model + e.offset, f->memory, e.length);
	} else if (what == 1) {
		FINE(fathom_fwd_post_append(p->c, &p->log, &memory, 1, &f->request, &hints));
		f->number = p->appended;
		p->appended += e.length;
	} else {
		f->wanted = malloc(e.length);
		memcpy(f->wanted, p->model + e.offset, e.length);
		FINE(fathom_fwd_post_read(p->c, &p->file, &memory, 1, &e, 1, &f->request, &hints));
	}
	hints.level = 0;
}

static void wait_one(struct pipeline *p, struct flight *f)
{
	struct fathom_fwd_result result;

	if (!f->request)
		return;
	FINE(fathom_fwd_wait(p->c, f->request, &result, &hints));
	CHECK(result.number == f->number);
	CHECK(!f->wanted || !memcmp(f->wanted, f->memory, f->number));
	free(f->memory);
	free(f->wanted);
	*f = (struct flight){.request = NULL};
}

static void pipeline(const char *address, char **words)
{
	struct pipeline *p = &pipe_line;
	struct fathom_fwd_extent all = {0, AREA};
	uint8_t *content = malloc(AREA);
	uint64_t done;

	p->seed = strtoull(words[1], NULL, 10);
	p->c = connect_to(address);
	p->file = open_file(p->c, "pipeline");
	p->log = open_file(p->c, "log");
	FINE(fathom_fwd_resize(p->c, &p->file, 0, &hints));
	FINE(fathom_fwd_resize(p->c, &p->file, AREA, &hints));
	for (long step = atol(words[0]); step > 0; step--) {
		struct flight *f = &p->flight[random_below(&p->seed, FLIGHT)];

		wait_one(p, f);
		post_one(p, f);
	}
	for (int i = 0; i < FLIGHT; i++)
		wait_one(p, &p->flight[i]);
	FINE(fathom_fwd_read(p->c, &p->file, &(struct iovec){content, AREA}, 1, &all, 1, &done,
			     &hints));
	CHECK(done == AREA && !memcmp(content, p->model, AREA));
	FINE(fathom_fwd_commit(p->c, NULL, FATHOM_FWD_WRITTEN, NULL, &hints));
	fathom_fwd_finalize(p->c);
	printf("%llu %llu\n", (unsigned long long)p->appended, (unsigned long long)fault_reordered);
	free(content);
}

/* ---- fork: the child has a connection of its own, the parent's goes on ---- */

static void append_lines(struct fathom_fwd *c, const struct fathom_fwd_handle *file, char mark)
{
	for (int i = 0; i < 200; i++) {
		char line[32];
		int n = snprintf(line, sizeof(line), "%c%d\n", mark, i);

		FINE(fathom_fwd_append(c, file, &(struct iovec){line, (size_t)n}, 1, NULL, &hints));
	}
}

static void forks(const char *address, char **words)
{
	struct fathom_fwd *c = connect_to(address);
	struct fathom_fwd_handle file = open_file(c, "forks");
	struct fathom_fwd_request *posted;
	int status;
	pid_t child;

	(void)words;
	FINE(fathom_fwd_post_append(c, &file, &(struct iovec){"begin\n", 6}, 1, &posted, &hints));
	child = fork();
	if (!child) {
		CHECK(fathom_fwd_wait(c, posted, NULL, &hints) == ECHILD);
		append_lines(c, &file, 'c');
		fathom_fwd_finalize(c);
		exit(0);
	}
	append_lines(c, &file, 'p');
	FINE(fathom_fwd_wait(c, posted, NULL, &hints));
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	append_lines(c, &file, 'q');
	fathom_fwd_finalize(c);
}

/* ---- stopped: ADDRESS PID: the server is stopped, the call returns by its deadline; goes on, all is well ---- */

static void stopped(const char *address, char **words)
{
	struct fathom_fwd *c = connect_to(address);
	struct fathom_fwd_handle file = open_file(c, "stopped");
	struct fathom_fwd_extent e = {0, 200000};
	char *memory = malloc(200000);
	pid_t server = atoi(words[0]);
	double began;

	memset(memory, 'x', 200000);
	hints.file = "stopped";
	CHECK(!kill(server, SIGSTOP));
	hints.timeout = 400;
	began = seconds();
	CHECK(fathom_fwd_write(c, &file, &(struct iovec){memory, 200000}, 1, &e, 1, NULL, &hints) ==
	      ETIMEDOUT);
	CHECK(seconds() - began < 3);
	printf("%s\n", hints.error.what);
	free(memory); /* nobody may read it any more */
	CHECK(!kill(server, SIGCONT));
	hints.timeout = 20000;
	FINE(fathom_fwd_write(c, &file, &(struct iovec){"now", 3}, 1,
			      &(struct fathom_fwd_extent){0, 3}, 1, NULL, &hints));
	fathom_fwd_finalize(c);
}

/* ---- records: ADDRESS FILE N: appends of any size, the offsets printed; servers may be killed meanwhile ---- */

static void records(const char *address, char **words)
{
	struct fathom_fwd *c = connect_to(address);
	struct fathom_fwd_handle file = open_file(c, words[0]);
	const struct fathom_fwd_path path = {&file, words[0]};
	uint64_t seed = (uint64_t)getpid();

	hints.path = &path;
	hints.paths = 1;
	for (int i = 0; i < atoi(words[1]); i++) {
		size_t n = 16 + random_below(&seed, random_below(&seed, 8) ? 500 : 60000);
		char *record = malloc(n + 1);
		uint64_t where;

		memset(record, 'a' + i % 26, n);
		snprintf(record, n, "%08zu %06d", n, i);
		record[15] = '.';
		FINE(fathom_fwd_append(c, &file, &(struct iovec){record, n}, 1, &where, &hints));
		printf("%llu %zu\n", (unsigned long long)where, n);
		free(record);
	}
	FINE(fathom_fwd_commit(c, &file, FATHOM_FWD_WRITTEN, NULL, &hints));
	hints.paths = 0;
	fathom_fwd_finalize(c);
}

/* ---- names: what the server's directory is like after all calls of names ---- */

static int count_entry(void *with, const struct fathom_fwd_entry *entry)
{
	*(int *)with += strncmp(entry->name, "n", 1) == 0;
	return 0;
}

static void names(const char *address, char **words)
{
	struct fathom_fwd *c = connect_to(address);
	struct fathom_fwd_handle dir, file, again;
	struct fathom_fwd_attr attr = {.mode = 0640};
	struct fathom_fwd_statfs space;
	char target[64], json[65536], few[4];
	int entries = 0;

	(void)words;
	FINE(fathom_fwd_mkdir(c, NULL, "d", 0700, &dir, NULL, &hints));
	FINE(fathom_fwd_create(c, &dir, "n0", 0600, &file, NULL, &hints));
	CHECK(fathom_fwd_create(c, &dir, "n0", 0600, NULL, NULL, &hints) == EEXIST);
	FINE(fathom_fwd_setattr(c, &file, FATHOM_FWD_SET_MODE, &attr, &hints));
	FINE(fathom_fwd_link(c, &file, &dir, "n1", &attr, &hints));
	CHECK(attr.nlink == 2 && (attr.mode & 0777) == 0640);
	FINE(fathom_fwd_symlink(c, &dir, "n2", "n0", &again, NULL, &hints));
	FINE(fathom_fwd_readlink(c, &again, target, sizeof(target), &hints));
	CHECK(!strcmp(target, "n0"));
	CHECK(fathom_fwd_readlink(c, &again, few, 2, &hints) == ENAMETOOLONG && !strcmp(few, "n"));
	FINE(fathom_fwd_lookup(c, &dir, "n2", 0, &again, NULL, &hints));
	CHECK(!memcmp(&again, &file, sizeof(file)));
	FINE(fathom_fwd_rename(c, &dir, "n1", NULL, "n3", 0, &hints));
	CHECK(fathom_fwd_rename(c, NULL, "n3", &dir, "n0", FATHOM_FWD_NOREPLACE, &hints) == EEXIST);
	for (int i = 0; i < 1500; i++) {
		char name[16];

		snprintf(name, sizeof(name), "nn%d", i);
		FINE(fathom_fwd_mkdir(c, &dir, name, 0700, NULL, NULL, &hints));
	}
	FINE(fathom_fwd_readdir(c, &dir, 0, count_entry, &entries, &hints));
	CHECK(entries == 1502);
	FINE(fathom_fwd_remove(c, &dir, "nn0", FATHOM_FWD_DIRECTORY, &hints));
	FINE(fathom_fwd_remove(c, &dir, "n2", 0, &hints));
	CHECK(fathom_fwd_lookup(c, NULL, "../d", 0, NULL, NULL, &hints) == EXDEV);
	CHECK(fathom_fwd_lookup(c, &dir, "none", 0, NULL, NULL, &hints) == ENOENT);
	printf("%s\n", hints.error.what);
	FINE(fathom_fwd_statfs(c, NULL, &space, &hints));
	CHECK(space.blocks > 0 && space.namemax == 255);
	FINE(fathom_fwd_status(c, json, sizeof(json), &hints));
	CHECK(*json == '{');
	FINE(fathom_fwd_ping(c, &hints));
	fathom_fwd_finalize(c);
}

/* ---- restarted: ADDRESS: accepted, then the server is killed and started again: commit says it ---- */

static void restarted(const char *address, char **words)
{
	struct fathom_fwd *c = connect_to(address);
	struct fathom_fwd_handle file = open_file(c, "restarted");
	struct fathom_fwd_failed failed[4];
	struct fathom_fwd_commit commit = {.failed = failed, .room = 4};
	struct fathom_fwd_extent e = {100, 5};
	char line[8];
	int error;

	(void)words;
	hints.level = FATHOM_FWD_ACCEPTED;
	FINE(fathom_fwd_write(c, &file, &(struct iovec){"hello", 5}, 1, &e, 1, NULL, &hints));
	CHECK(hints.reached == FATHOM_FWD_ACCEPTED);
	printf("accepted\n");
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin) != NULL); /* another server now */
	FINE(fathom_fwd_lookup(c, NULL, "restarted", 0, &file, NULL, &hints));
	error = fathom_fwd_commit(c, NULL, FATHOM_FWD_WRITTEN, &commit, &hints);
	CHECK(error == EIO && commit.n == 1 && failed[0].offset == 100 && failed[0].length == 5);
	printf("%s\n", hints.error.what);
	FINE(fathom_fwd_commit(c, NULL, FATHOM_FWD_WRITTEN, &commit, &hints)); /* told once */
	fathom_fwd_finalize(c);
}

/* ---- calls: ADDRESS N: what a plug-in says of data that was only accepted before; and what is refused ---- */

static void call_ranges(struct fathom_fwd *c, const struct fathom_fwd_handle *file, int n)
{
	struct fathom_fwd_extent ranges[] = {{0, 8}, {8, 1 << 20}};
	const struct iovec given = {ranges, sizeof(ranges)};
	const struct fathom_fwd_extent place = {0, 24};
	struct doubles {
		double least, most, sum;
		uint64_t count;
	} answer[2];
	double numbers[3] = {n, n + 1, -n};
	size_t length;

	hints.level = FATHOM_FWD_ACCEPTED;
	FINE(fathom_fwd_write(c, file, &(struct iovec){numbers, 24}, 1, &place, 1, NULL, &hints));
	hints.level = 0;
	FINE(fathom_fwd_call(c, "doubles", file, &given, answer, sizeof(answer), &length, &hints));
	CHECK(length == sizeof(answer) && answer[0].count == 1 && answer[1].count == 2);
	CHECK(answer[0].sum == n && answer[1].least == -n && answer[1].most == n + 1);
}

static void calls(const char *address, char **words)
{
	struct fathom_fwd *c = connect_to(address);
	struct fathom_fwd_handle file = open_file(c, "numbers");
	static char many[65537];
	size_t length = 9;

	for (int n = 1; n <= atoi(words[0]); n++)
		call_ranges(c, &file, n);
	CHECK(fathom_fwd_call(c, "none", NULL, NULL, NULL, 0, &length, &hints) == ENOSYS);
	CHECK(length == 0 && strstr(hints.error.what, "call of none") != NULL);
	printf("%s\n", hints.error.what);
	CHECK(fathom_fwd_call(c, "crc32", &file, &(struct iovec){many, 3}, many, 4, &length,
			      &hints) == EINVAL);
	printf("%s\n", hints.error.what);
	CHECK(fathom_fwd_call(c, "crc32", &file, &(struct iovec){many, sizeof(many)}, many, 4,
			      &length, &hints) == EMSGSIZE);
	fathom_fwd_finalize(c);
}

static const struct {
	const char *name;
	void (*run)(const char *address, char **words);
	int words;
} scenarios[] = {
	{"fsx", fsx, 3},     {"large", large, 1},         {"threads", threads, 0},
	{"forks", forks, 0}, {"stopped", stopped, 1},     {"records", records, 2},
	{"names", names, 0}, {"restarted", restarted, 0}, {"pipeline", pipeline, 2},
	{"calls", calls, 1},
};

int main(int count, char **words)
{
	fault_add();
	for (size_t i = 0; count > 2 && i < sizeof(scenarios) / sizeof(*scenarios); i++)
		if (!strcmp(scenarios[i].name, words[1]) && count == 3 + scenarios[i].words) {
			scenarios[i].run(words[2], words + 3);
			return 0;
		}
	fprintf(stderr, "usage: drive SCENARIO ADDRESS ...\n");
	return 2;
}
