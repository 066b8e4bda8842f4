/* Opening and closing MPI files: objects, hints, groups of ranks; and what the program's start tells. */
#include <fcntl.h>
#include <string.h>

#include "core/hash.h"
#include "handlers/forget.h"
#include "handlers/library.h"
#include "handlers/mpi_abi.h"
#include "handlers/mpiio.h"

enum {
	FILES = 4096,  /* MPI files open at once; further ones have no views and no turns */
	GROUPS = 1024, /* different groups that opened files */
	STRIDE = 256,  /* ranks translated at a time */
	NAME = 4096,
	KEY = 256,    /* MPI_MAX_INFO_KEY: 255 in MPICH, 36 in Open MPI */
	VALUE = 1025, /* MPI_MAX_INFO_VAL: 1024 in MPICH, 256 in Open MPI */
};

/* Written by opens and closes; read by all calls on the file. */
static struct {
	struct mpi_file file[FILES];
	_Atomic uint32_t next; /* where the search for a free one begins */
	_Atomic bool rank_recorded;
	_Atomic bool full;        /* said once */
	_Atomic uint32_t changes; /* of the handle table: makes what threads remember of it stale */
	struct {
		_Atomic uint64_t hash;
		_Atomic uint32_t opens;
	} group[GROUPS];
} files;

/* The handle this thread looked up last: a call asks for it several times. */
static __thread struct {
	uintptr_t file;
	uint64_t value;
	uint32_t changes;
} last_file __attribute__((tls_model("initial-exec")));

/* The file this thread opened last: HDF5 and others open MPI files inside their own opens. */
static __thread uint32_t last_opened __attribute__((tls_model("initial-exec")));

/* ---- the table: handle -> object | (slot + 1) << 32 ---- */

static uint64_t value_of(uintptr_t file)
{
	const uint32_t changes = atomic_load_explicit(&files.changes, memory_order_acquire);

	if (last_file.file != file || last_file.changes != changes) {
		last_file.value = handle_get(&mpi_files, 0, file);
		last_file.file = file;
		last_file.changes = changes;
	}
	return last_file.value;
}

static void remember(uintptr_t file, uint64_t value)
{
	handle_put(&mpi_files, 0, file, value);
	atomic_fetch_add(&files.changes, 1);
}

static uint64_t forget(uintptr_t file)
{
	const uint64_t value = handle_take(&mpi_files, 0, file);

	atomic_fetch_add(&files.changes, 1);
	return value;
}

uint32_t mpi_file_object(uintptr_t file)
{
	return (uint32_t)value_of(file);
}

uint32_t mpi_file_object_at(const uintptr_t *file)
{
	return file ? mpi_file_object(*file) : 0;
}

static struct mpi_file *slot_of(uint64_t value)
{
	return value >> 32 ? &files.file[(value >> 32) - 1] : NULL;
}

struct mpi_file *mpi_file(uintptr_t file)
{
	return slot_of(value_of(file));
}

/* The number of a free slot + 1, emptied; 0: none. */
static uint32_t take_slot(void)
{
	const uint32_t from = atomic_fetch_add_explicit(&files.next, 1, memory_order_relaxed);

	for (uint32_t i = 0; i < FILES; i++) {
		const uint32_t n = (from + i) % FILES;
		struct mpi_file *f = &files.file[n];
		uint32_t unused = 0;

		if (!atomic_compare_exchange_strong(&f->used, &unused, 1))
			continue;
		f->object = f->selection = 0;
		f->displacement = f->split_size = 0;
		f->etype = 1;
		f->mapped = true;
		f->undefined = false;
		f->layout = (struct mpi_layout){.total = 1,
						.period = 1,
						.span = 1,
						.blocks = 1,
						.exact = true,
						.block = {{0, 1}}};
		f->split = (struct call_ref){0};
		f->group.size = 0;
		atomic_store(&f->turns, 0);
		atomic_store(&f->position, 0);
		return n + 1;
	}
	if (!atomic_exchange(&files.full, true))
		note("more than %d MPI files open at once: the others have no views", FILES);
	return 0;
}

/* ---- ranks ---- */

/* Is there a world? Not in a program that uses sessions only: there the world may not even be asked for. */
static bool in_world(const struct mpi_abi *abi)
{
	int flag = 0;

	return abi->initialized(&flag) == 0 && flag;
}

/* MPI_Init, or the first open when that was not seen. */
static void tell_rank(const struct mpi_abi *abi)
{
	int rank = 0, ranks = 0;

	if (atomic_exchange(&files.rank_recorded, true) || !in_world(abi))
		return;
	note_library("%s%s%s", abi->facts->name, *abi->version ? " " : "", abi->version);
	if (abi->comm_rank(abi->world, &rank) == 0 && abi->comm_size(abi->world, &ranks) == 0)
		process_rank((uint32_t)rank, (uint32_t)ranks, abi->facts->name);
}

void mpi_started(struct call *c, int result)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi(c->wrapper);

	if (!result && abi)
		tell_rank(abi);
}

void mpi_aborting(int code)
{
	note("MPI_Abort with code %d", code);
}

/* Ranks `from` to `from + n` of a group into the definition. */
static bool add_ranks(const struct mpi_abi *abi, uintptr_t group, uintptr_t world, uint32_t from,
		      uint32_t n, struct group_def *out)
{
	int rank[STRIDE], in_world[STRIDE];

	for (uint32_t i = 0; i < n; i++)
		rank[i] = (int)(from + i);
	if (abi->group_translate(group, (int)n, rank, world, in_world) != 0)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		out->hash = hash_mix(out->hash, (uint32_t)in_world[i]);
		if (out->n < 64)
			out->rank[out->n++] = (uint32_t)in_world[i];
	}
	return true;
}

bool mpi_group(const struct mpi_abi *abi, uintptr_t comm, struct group_def *out)
{
	uintptr_t group = 0, world = 0;
	int size = 0, own = 0;
	bool done;

	*out = (struct group_def){.hash = 0x46617468};
	if (abi->comm_size(comm, &size) != 0 || abi->comm_rank(comm, &own) != 0 || size <= 0)
		return false;
	out->size = (uint32_t)size;
	out->own = (uint32_t)own;
	if (abi->comm_group(comm, &group) != 0)
		return false;
	done = abi->comm_group(abi->world, &world) == 0;
	for (uint32_t from = 0; done && from < out->size; from += STRIDE) {
		const uint32_t left = out->size - from;

		done = add_ranks(abi, group, world, from, left < STRIDE ? left : STRIDE, out);
	}
	if (world)
		abi->group_free(&world);
	abi->group_free(&group);
	out->hash += out->hash == 0; /* 0 marks a free entry */
	return done;
}

uint32_t mpi_next_ordinal(uint64_t hash)
{
	for (uint32_t i = 0; i < GROUPS; i++) {
		const uint32_t n = (uint32_t)((hash + i) % GROUPS);
		uint64_t there = 0;

		if (atomic_compare_exchange_strong(&files.group[n].hash, &there, hash) ||
		    there == hash)
			return atomic_fetch_add(&files.group[n].opens, 1);
	}
	note("more than %d groups of ranks opened files: further ones are not told apart", GROUPS);
	return UINT32_MAX;
}

const struct group_def *mpi_group_inside(const struct call *c)
{
	const struct mpi_file *f = last_opened ? &files.file[last_opened - 1] : NULL;

	if (!f || !f->opened.stream || f->opened.stream != call_reference(c).stream ||
	    f->opened.seq <= c->seq || f->group.size == 0)
		return NULL;
	return &f->group;
}

/* ---- hints ---- */

void mpi_hints(struct call *c, const struct mpi_abi *abi, uint32_t object, bool in_force,
	       uintptr_t info)
{
	char key[KEY], value[VALUE];
	int keys = 0, is_set = 0;

	if (mpi_handle(abi, info) == abi->info_null || !c->thread)
		return;
	if (abi->info_keys(info, &keys) != 0)
		return;
	for (int i = 0; i < keys; i++) {
		if (abi->info_key(info, i, key) != 0)
			return;
		value[0] = '\0';
		if (abi->info_get(info, key, VALUE - 1, value, &is_set) == 0 && is_set)
			object_hint(c, object, in_force, key, value);
	}
}

static void hints_in_force(struct call *c, const struct mpi_abi *abi, uint32_t object,
			   uintptr_t file)
{
	uintptr_t info = 0;

	if (abi->file_info(file, &info) != 0)
		return;
	mpi_hints(c, abi, object, true, info);
	if (mpi_handle(abi, info) != abi->info_null)
		abi->info_free(&info);
}

void mpi_hinted(struct call *c, uintptr_t file, uintptr_t info)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi_known();
	const uint32_t object = mpi_file_object(file);

	if (c->error || !abi || !c->thread)
		return;
	mpi_hints(c, abi, object, false, info);
	hints_in_force(c, abi, object, file);
}

/* ---- open and close ---- */

const char *mpi_bare_name(const char *name)
{
	static const char *const prefixes[] = {
		"ufs", "nfs", "panfs",  "pvfs",   "pvfs2", "pfs",  "xfs",     "gpfs", "hfs",
		"sfs", "bgl", "lustre", "testfs", "ime",   "daos", "quobyte", "ftp",  "gsiftp"};
	const char *colon = strchr(name, ':');

	for (size_t i = 0; colon && i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strlen(prefixes[i]) == (size_t)(colon - name) &&
		    strncmp(prefixes[i], name, (size_t)(colon - name)) == 0)
			return colon + 1;
	return name;
}

uint32_t mpi_name_left_out(const char *name)
{
	return name ? path_left_out(mpi_bare_name(name)) : 0;
}

uint32_t mpi_path_object(const char *name)
{
	return name ? path_object(AT_FDCWD, mpi_bare_name(name)) : 0;
}

static void describe(struct call *c, const struct mpi_abi *abi, struct mpi_file *f, uintptr_t comm)
{
	f->object = c->object;
	f->opened = call_reference(c);
	tell_rank(abi);
	if (!in_world(abi) || !mpi_group(abi, comm, &f->group))
		return;
	f->group.ordinal = mpi_next_ordinal(f->group.hash);
	object_group(c, c->object, &f->group);
}

void mpi_opened(struct call *c, uintptr_t comm, const char *name, int amode, uintptr_t info,
		const uintptr_t *file)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi(c->wrapper);
	char path[NAME];
	int ranks = 0;

	if (c->error || !file || !name) {
		opened_nothing(c, name ? mpi_bare_name(name) : NULL);
		return;
	}
	path_absolute(path, sizeof(path), AT_FDCWD, mpi_bare_name(name));
	if (abi)
		abi->comm_size(comm, &ranks);
	const struct object_def def = {
		.name = path,
		.number = {(uint64_t)(unsigned)amode, (uint64_t)ranks},
		.numbers = 2,
	};
	c->object = object_define(c, OBJECT_MPI_FILE, &def);
	const uint32_t slot = abi ? take_slot() : 0;
	remember(*file, c->object | (uint64_t)slot << 32);
	if (mpi_bare_name(name) != name)
		call_text(c, "filename", name);
	if (!slot)
		return;
	struct mpi_file *f = &files.file[slot - 1];
	if (amode & 128) /* MPI_MODE_APPEND: only the MPI knows where the end is */
		atomic_store(&f->position, UNKNOWN_OFFSET);
	describe(c, abi, f, comm);
	last_opened = slot;
	mpi_hints(c, abi, c->object, false, info);
	hints_in_force(c, abi, c->object, *file);
}

/* Before the call: right after it the handle may be another's. */
void mpi_closing(struct call *c, const uintptr_t *file)
{
	const bool ours = file && !mpi_absorbed(c);

	c->scratch[KEEP_FILE] = ours ? *file : 0;
	c->scratch[KEEP_GIVEN] = ours ? forget(*file) : 0;
	struct mpi_file *f = slot_of(c->scratch[KEEP_GIVEN]);

	c->scratch[KEEP_TURN] = f ? atomic_fetch_add(&f->turns, 1) + 1 : 0;
}

void mpi_closed(struct call *c, int result)
{
	struct mpi_file *f = slot_of(c->scratch[KEEP_GIVEN]);

	if (result) {
		if (c->scratch[KEEP_GIVEN])
			remember(c->scratch[KEEP_FILE], c->scratch[KEEP_GIVEN]);
		return;
	}
	if (f)
		atomic_store(&f->used, 0);
}

void mpi_files_forget(void)
{
	const uint32_t changes = atomic_load(&files.changes);

	memory_wipe(&files, sizeof(files));
	atomic_store(&files.changes, changes + 1);
}
