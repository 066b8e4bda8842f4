/* Settings that come while a run is on its way: `fathom tune --live`. Ranks whose hints differ would hang in an open, and no
 * two of them look at the control page at the same moment. So the first rank of the communicator looks, and tells the
 * others what it read: the one communication that Fathom makes, in runs that were started for it (`fathom run --tunable`),
 * inside a call that is collective. */
#include "tune/live.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>

#include "core/core.h"
#include "core/raw.h"
#include "handlers/library.h"

enum { TEXT = 4096, RULES = 32 };

/* A text, by its number; another one that falls into the same slot takes its place. */
struct slot {
	uint64_t number; /* 0: none */
	bool good;
	char text[TEXT + 1];
	struct rule rule[RULES];
	struct setting setting[LIVE_SETTINGS];
	struct table table;
};

/* What the first rank tells. */
struct news {
	uint64_t number; /* 0: nothing came yet */
	char text[TEXT];
};

static struct slot slots[LIVE_SLOTS];
static _Atomic bool taken; /* the slots, for as long as one is read */

const struct setting *live_setting(uint32_t number)
{
	return &slots[number / LIVE_SETTINGS].setting[number % LIVE_SETTINGS];
}

/* The file may be there and be replaced by a later one: then it is read with the next open. */
static void look(struct news *news)
{
	const uint64_t number = atomic_load(&control->tuned);
	char path[PATH_BYTES];
	long fd, got;

	if (!number)
		return;
	numbered_path(path, config.ring, "/tuned.", number);
	fd = raw3(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	got = raw3(SYS_read, fd, (long)news->text, TEXT - 1);
	raw3(SYS_close, fd, 0, 0);
	if (got > 0)
		news->number = number;
}

/* Every rank is told the same, so every rank finds it good or none does. */
static const struct table *settings_of(const struct news *news)
{
	const uint32_t at = (uint32_t)(news->number % LIVE_SLOTS);
	struct slot *s = &slots[at];

	while (atomic_exchange(&taken, true))
		sched_yield();
	if (s->number != news->number) {
		s->number = news->number;
		memcpy(s->text, news->text, TEXT);
		s->table = (struct table){.rule = s->rule,
					  .setting = s->setting,
					  .rules_most = RULES,
					  .settings_most = LIVE_SETTINGS,
					  .first = (uint16_t)(SETTINGS + at * LIVE_SETTINGS)};
		s->good = settings_read(&s->table, s->text);
		if (!s->good)
			note("tuned: settings %llu cannot be read: they are not set",
			     (unsigned long long)s->number);
	}
	atomic_store(&taken, false);
	return s->good ? &s->table : NULL;
}

static bool tell(const struct mpi_abi *abi, uint32_t wrapper, uintptr_t comm, struct news *news)
{
	int (*bcast)(void *buffer, int count, uintptr_t datatype, int root, uintptr_t comm);
	void *at = library_function(library_of(wrapper), "PMPI_Bcast");

	memcpy(&bcast, &at, sizeof(at));
	return at && bcast(news, sizeof(*news), abi->byte, 0, comm) == 0;
}

const struct table *live_settings(const struct mpi_abi *abi, uint32_t wrapper, uintptr_t comm)
{
	struct news news = {0};
	int rank = 0, ranks = 1;

	if (!settings_live || mpi_handle(abi, comm) == abi->comm_null ||
	    abi->comm_rank(comm, &rank) != 0 || abi->comm_size(comm, &ranks) != 0)
		return NULL;
	if (rank == 0)
		look(&news);
	if (ranks > 1 && !tell(abi, wrapper, comm, &news))
		return NULL;
	return news.number ? settings_of(&news) : NULL;
}
