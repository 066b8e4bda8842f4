/* Settings that come while a run is on its way: `fathom tune --live`. Ranks whose hints differ would hang in an open, and no
 * two of them look at the control page at the same moment. So the first rank of the communicator looks, and tells the
 * others what it read: all that Fathom says by MPI, in runs that were started for it (`fathom run --tunable`), inside
 * calls that are collective. The program may free the communicator of an open file, so there we have one of our own. */
#include "tune/live.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>

#include "core/base.h"
#include "core/call.h"
#include "core/config.h"
#include "core/state.h"
#include "core/raw.h"
#include "handlers/library.h"

enum {
	TEXT = 4096,
	RULES = 32,
	COMMUNICATORS = 256, /* files open at once that a first rank has a communicator made for */
};

/* A text, by its number; another one that falls into the same slot takes its place. */
struct slot {
	uint64_t number; /* 0: none */
	bool good;
	char received[TEXT]; /* first ranks on other nodes number theirs alike */
	char text[TEXT + 1];
	struct rule rule[RULES];
	struct setting setting[LIVE_SETTINGS];
	struct table table;
};

/* What the first rank tells; the text follows where there is one. */
struct news {
	uint64_t number; /* 0: nothing came yet */
	uint64_t keeps;  /* the file is to have a communicator */
};

/* What of the program's MPI communicates. */
static struct {
	_Atomic bool resolved;
	int (*bcast)(void *buffer, int count, uintptr_t datatype, int root, uintptr_t comm);
	int (*split)(uintptr_t comm, int color, int key, void *new_comm);
	int (*free)(void *comm);
} talk;

static struct slot slots[LIVE_SLOTS];
static _Atomic bool taken; /* the slots, for as long as one is read */
/* Of files that we are the first rank of. */
static _Atomic uint32_t communicators;

const struct setting *live_setting(uint32_t number)
{
	return &slots[number / LIVE_SETTINGS].setting[number % LIVE_SETTINGS];
}

/* The file may be there and be replaced by a later one: then it is read with the next open. */
static void look(struct news *news, char *text)
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
	got = raw3(SYS_read, fd, (long)text, TEXT - 1);
	raw3(SYS_close, fd, 0, 0);
	if (got > 0)
		news->number = number;
}

/* Every rank is told the same, so every rank finds it good or none does. */
static const struct table *settings_of(uint64_t number, const char *text)
{
	const uint32_t at = (uint32_t)(number % LIVE_SLOTS);
	struct slot *s = &slots[at];

	while (atomic_exchange(&taken, true))
		sched_yield();
	if (s->number != number || memcmp(s->received, text, TEXT) != 0) {
		s->number = number;
		memcpy(s->received, text, TEXT);
		memcpy(s->text, text, TEXT);
		s->table = (struct table){.rule = s->rule,
					  .setting = s->setting,
					  .rules_most = RULES,
					  .settings_most = LIVE_SETTINGS,
					  .first = (uint16_t)(SETTINGS + at * LIVE_SETTINGS)};
		s->good = settings_read(&s->table, s->text);
		if (!s->good)
			note("tuned: settings %llu cannot be read: they are not set",
			     (unsigned long long)number);
	}
	atomic_store(&taken, false);
	return s->good ? &s->table : NULL;
}

static bool can_talk(uint32_t wrapper)
{
	if (atomic_load(&talk.resolved))
		return true;
	void *const library = library_of(wrapper);
	void *const bcast = library_function(library, "PMPI_Bcast");
	void *const split = library_function(library, "PMPI_Comm_split");
	void *const free = library_function(library, "PMPI_Comm_free");

	if (!bcast || !split || !free)
		return false;
	memcpy(&talk.bcast, &bcast, sizeof(bcast));
	memcpy(&talk.split, &split, sizeof(split));
	memcpy(&talk.free, &free, sizeof(free));
	atomic_store(&talk.resolved, true);
	return true;
}

/* comm 0: nobody else is to hear. */
static bool agree(const struct mpi_abi *abi, uintptr_t comm, bool first, struct news *news,
		  char *text)
{
	if (first)
		look(news, text);
	if (!comm)
		return true;
	if (talk.bcast(news, sizeof(*news), abi->byte, 0, comm) != 0)
		return false;
	return !news->number || talk.bcast(text, TEXT, abi->byte, 0, comm) == 0;
}

static struct tuned_file *keep(uintptr_t comm, const char *path)
{
	const size_t bytes = strlen(path) + 1;
	struct tuned_file *file = memory_get(sizeof(*file) + bytes, true);

	if (!file)
		return NULL;
	file->comm = comm;
	memcpy(file->path, path, bytes);
	return file;
}

const struct table *live_open(const struct mpi_abi *abi, uint32_t wrapper, uintptr_t comm,
			      const char *path, struct tuned_file **file)
{
	struct news news = {0};
	char text[TEXT] = "";
	int rank = 0, ranks = 1;
	uintptr_t own = 0;

	if (!settings_live || !can_talk(wrapper) || mpi_handle(abi, comm) == abi->comm_null ||
	    abi->comm_rank(comm, &rank) != 0 || abi->comm_size(comm, &ranks) != 0)
		return NULL;
	news.keeps = atomic_load(&communicators) < COMMUNICATORS;
	if (!agree(abi, ranks > 1 ? comm : 0, rank == 0, &news, text))
		return NULL;
	if (ranks > 1 && news.keeps && talk.split(comm, 0, rank, &own) != 0)
		news.keeps = false;
	if (news.keeps)
		*file = keep(own, path);
	if (*file)
		atomic_fetch_add(&communicators, rank == 0);
	return news.number ? settings_of(news.number, text) : NULL;
}

const struct table *live_again(const struct mpi_abi *abi, uint32_t wrapper,
			       const struct tuned_file *file)
{
	struct news news = {0};
	char text[TEXT] = "";
	int rank = 0;

	if (!can_talk(wrapper) || (file->comm && abi->comm_rank(file->comm, &rank) != 0) ||
	    !agree(abi, file->comm, rank == 0, &news, text))
		return NULL;
	return news.number ? settings_of(news.number, text) : NULL;
}

void live_free(const struct mpi_abi *abi, struct tuned_file *file)
{
	int rank = 0;

	if (file->comm) {
		abi->comm_rank(file->comm, &rank);
		talk.free(&file->comm);
	}
	atomic_fetch_sub(&communicators, rank == 0);
	raw3(SYS_munmap, (long)file, (long)(sizeof(*file) + strlen(file->path) + 1), 0);
}
