/* The callers that unwind() finds are those that the C library's backtrace() finds, from functions of every kind of frame:
 * small, with arrays of any length, aligned beyond the stack's own alignment, called back by libraries, in signal handlers,
 * in threads; and each slot holds what is said of it. Behind code that was made at run time, which backtrace() does not know,
 * are those that led to it, where it keeps frame pointers. */
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "core/process.h"
#include "core/sites.h"
#include "core/unwind.h"

enum { MOST = 64, WALKS = 4000, DEEPEST = 20 };

/* Do stacks go on beyond a handler? On x86-64 the C library ends it, and has a table. */
#if defined(__x86_64__)
enum { IN_HANDLERS = 1 };
#else
enum { IN_HANDLERS = 0 };
#endif

struct walk {
	uint64_t random;
	int depth;
	int handlers; /* of signals that it is in: where the kernel's code that ends one has no table, nothing is known above */
	int generated;         /* pieces of such code that it is in, */
	int unframed;          /* and of those without a frame pointer */
	const void *outermost; /* where work() returns to */
};

static long compared, behind_generated;

static int draw(struct walk *w, int below)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (int)(w->random >> 33) % below;
}

static __attribute__((noinline)) void compare(const struct walk *w)
{
	struct caller callers[MOST];
	void *all[MOST + 1];
	const int known = backtrace(all, MOST + 1);
	const uint32_t n = unwind(__builtin_return_address(0), callers, MOST);
	int at = 0;

	while (at < known && all[at] != __builtin_return_address(0))
		at++;
	CHECK(at < known);
	CHECK(n > 0 || w->unframed);
	for (uint32_t i = 0; i < n && at + 1 + (int)i < known; i++) {
		CHECK(callers[i].address == all[at + 1 + (int)i]);
		CHECK(*callers[i].slot == callers[i].held);
	}
	if (w->generated && !w->unframed && !w->handlers && n < MOST) {
		uint32_t outermost = 0;

		while (outermost < n && callers[outermost].address != w->outermost)
			outermost++;
		CHECK(outermost < n);
		behind_generated++;
	}
	/* The outermost returns nowhere. */
	CHECK((int)n >= known - at - 2 || n == MOST || (w->handlers && !IN_HANDLERS));
	compared += n;
}

static void go_on(struct walk *w);

static __attribute__((noinline)) void small(struct walk *w)
{
	go_on(w);
	__asm__ volatile("");
}

static __attribute__((noinline)) int with_registers(struct walk *w, int a, int b, int c)
{
	const int d = a * b + c, e = a - b * c, f = a * c - b;

	go_on(w);
	return d * e + f * a + b * c + draw(w, 9);
}

static __attribute__((noinline)) void with_array(struct walk *w)
{
	const size_t size = (size_t)draw(w, 5000) + 1;
	char array[size];

	memset(array, 1, size);
	go_on(w);
	__asm__ volatile("" : : "r"(array) : "memory");
}

static __attribute__((noinline)) void aligned(struct walk *w)
{
	_Alignas(128) char array[256];

	memset(array, 1, sizeof(array));
	go_on(w);
	__asm__ volatile("" : : "r"(array) : "memory");
}

static __attribute__((noinline)) void aligned_array(struct walk *w)
{
	const size_t size = (size_t)draw(w, 300) + 1;
	_Alignas(64) char first[64];
	char array[size];

	memset(first, 1, sizeof(first));
	memset(array, 1, size);
	go_on(w);
	__asm__ volatile("" : : "r"(array), "r"(first) : "memory");
}

static struct walk *volatile called_back;

static int order(const void *a, const void *b)
{
	struct walk *w = called_back;

	if (w) {
		called_back = NULL;
		go_on(w);
	}
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void by_a_library(struct walk *w)
{
	int numbers[] = {3, 1, 2};

	called_back = w;
	qsort(numbers, 3, sizeof(*numbers), order);
	__asm__ volatile("");
}

static struct walk *volatile handled;

static void handle(int number)
{
	struct walk *w = handled;

	(void)number;
	go_on(w);
	__asm__ volatile("");
}

static __attribute__((noinline)) void in_a_handler(struct walk *w)
{
	struct walk *before = handled;

	handled = w;
	w->handlers++;
	raise(SIGUSR1);
	w->handlers--;
	handled = before;
}

#if defined(__x86_64__)
typedef void (*code)(struct walk *w);
static code framed, unframed;

/* Calls go_on(); `push` and `pop`: instructions around that. */
static code generate(const uint8_t *push, size_t pushed, uint8_t pop)
{
	uint8_t *to = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*const callee)(struct walk *) = go_on;
	const uint8_t move[] = {0x48, 0xb8}, call[] = {0xff, 0xd0}; /* of rax */
	uint8_t *at = to;

	CHECK(to != MAP_FAILED);
	memcpy(at, push, pushed);
	at += pushed;
	memcpy(at, move, sizeof(move));
	memcpy(at + 2, &callee, sizeof(callee));
	memcpy(at + 10, call, sizeof(call));
	at[12] = pop;
	at[13] = 0xc3; /* ret */
	return (code)(uintptr_t)to;
}

static void generate_all(void)
{
	static const uint8_t frame[] = {0x55, 0x48, 0x89, 0xe5}, none[] = {0x53};

	framed = generate(frame, sizeof(frame), 0x5d);
	unframed = generate(none, sizeof(none), 0x5b);
}

static __attribute__((noinline)) void by_generated(struct walk *w)
{
	const bool is_framed = draw(w, 4) != 0;

	w->generated++;
	w->unframed += !is_framed;
	(is_framed ? framed : unframed)(w);
	w->unframed -= !is_framed;
	w->generated--;
}
#else
static void generate_all(void)
{
}

static void by_generated(struct walk *w)
{
	go_on(w);
}
#endif

static void go_on(struct walk *w)
{
	if (++w->depth >= DEEPEST || !draw(w, 12)) {
		compare(w);
		return;
	}
	switch (draw(w, 8)) {
	case 0:
		small(w);
		break;
	case 1:
		CHECK(with_registers(w, draw(w, 9), draw(w, 9), draw(w, 9)) > -100000);
		break;
	case 2:
		with_array(w);
		break;
	case 3:
		aligned(w);
		break;
	case 4:
		aligned_array(w);
		break;
	case 5:
		by_a_library(w);
		break;
	case 6:
		by_generated(w);
		break;
	default:
		in_a_handler(w);
	}
}

static void *work(void *argument)
{
	struct walk w = {
		.random = (uint64_t)(uintptr_t)argument,
		.outermost = __builtin_return_address(0),
	};

	for (int i = 0; i < WALKS; i++) {
		w.depth = w.handlers = w.generated = w.unframed = 0;
		go_on(&w);
	}
	return NULL;
}

int main(void)
{
	const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_NODEFER};
	pthread_t thread;

	where_begin();
	generate_all();
	sigaction(SIGUSR1, &action, NULL);
	work((void *)1);
	CHECK(pthread_create(&thread, NULL, work, (void *)2) == 0);
	pthread_join(thread, NULL);
	CHECK(compared > 10 * WALKS);
	CHECK(behind_generated > WALKS / 10 || !IN_HANDLERS);
	CHECK(unwind((void *)8, &(struct caller){0}, 1) == 0); /* nobody returns there */
	return 0;
}
