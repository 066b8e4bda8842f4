/* Objects: files, paths, MPI files, datasets. Numbered per process image, defined in the stream of the thread
 * that met them first; with them their hints, groups and selections, and the files selected by the user. */
#include <fcntl.h>
#include <string.h>

#include "core/base.h"
#include "core/call.h"
#include "core/forget.h"
#include "core/hash.h"
#include "core/objects.h"
#include "core/state.h"
#include "core/stream.h"
#include "core/text.h"
#include "core/thread.h"
#include "core/counters.h"
#include "core/levels.h"
#include "core/raw.h"

enum { INTERNED = 16384, PROBES = 16 };

/* Paths and selections met before, by hash. */
struct interned {
	struct {
		_Atomic uint64_t hash;
		_Atomic uint32_t number;
	} entry[INTERNED];
};

static struct {
	char path[PATH_BYTES];
	_Atomic uint32_t changes, read; /* path is of change `read` */
} cwd = {.changes = 1};

/* A vfork child has a directory of its own, and asks for it each time. */
void path_chdir(void)
{
	if (!in_vfork_child())
		atomic_fetch_add(&cwd.changes, 1);
}

static size_t current_directory(char *out, size_t size)
{
	uint32_t change = atomic_load(&cwd.changes);
	long got;

	if (atomic_load(&cwd.read) == change && !in_vfork_child())
		return text_copy(out, size, cwd.path);
	got = raw3(SYS_getcwd, (long)out, (long)size, 0);
	if (got <= 0)
		return text_copy(out, size, "?");
	if (!in_vfork_child()) {
		memcpy(cwd.path, out, (size_t)got);
		atomic_store(&cwd.read, change);
	}
	return (size_t)got - 1;
}

static size_t directory_of(char *out, size_t size, int fd)
{
	char link[32] = "/proc/self/fd/", digits[12];
	int n = 0, at = 14;
	long got;

	if (fd == AT_FDCWD)
		return current_directory(out, size);
	for (unsigned value = (unsigned)fd; n == 0 || value; value /= 10)
		digits[n++] = (char)('0' + value % 10);
	while (n)
		link[at++] = digits[--n];
	got = raw4(SYS_readlinkat, AT_FDCWD, (long)link, (long)out, (long)size - 1);
	out[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

/* `//` and `/./` go; `..` stays, a symbolic link may stand before it. */
static void clean(char *path)
{
	char *out = path;

	for (const char *in = path; *in;) {
		if (in[0] == '/' && in[1] == '/')
			in++;
		else if (in[0] == '/' && in[1] == '.' && (in[2] == '/' || !in[2]))
			in += 2;
		else
			*out++ = *in++;
	}
	if (out == path)
		*out++ = '/';
	*out = '\0';
}

const char *path_absolute(char *out, size_t size, int dirfd, const char *path)
{
	size_t n = 0;

	if (path[0] != '/') {
		n = directory_of(out, size - 1, dirfd);
		if (path[0] && n == 0)
			out[n++] = '?'; /* of a descriptor that is not open */
		if (path[0])
			out[n++] = '/';
	}
	text_copy(out + n, size - n, path);
	if (out[0] == '/')
		clean(out);
	return out;
}

/* Definitions outlive the budget, but not for ever: twice its bytes, then objects are unknown. */
static bool definitions_end(void)
{
	uint64_t bytes = atomic_load(&process->stream_bytes);

	return bytes > 1 << 20 && (bytes - (1 << 20)) / 2 > atomic_load(&control->budget);
}

/* Numbers that may be negative: file birth seconds (class 1 and 7, the sixth). */
static bool is_signed(enum object_class class, uint32_t index)
{
	return (class == OBJECT_DESCRIPTOR || class == OBJECT_DIRECTORY) && index == 5;
}

uint32_t object_define_in(struct thread *t, struct call *c, enum object_class class,
			  const struct object_def *def)
{
	const uint32_t left_out = left_out_bits(class, def);
	/* A call that makes what is left out may lose its row when it ends. */
	const bool has_row = c && c->thread && c->seq != ~0ull && !left_out;
	struct record r;
	uint32_t object;

	if (definitions_end())
		return left_out;
	object = atomic_fetch_add(&process->objects, 1) + 1;
	r = record_begin(t);
	record_varint(&r, object);
	record_varint(&r, class);
	record_varint(&r, def->parent & ~OBJECT_LEFT_OUT);
	record_varint(&r, has_row ? c->seq + 1 : 0);
	record_string(&r, def->name);
	for (uint32_t i = 0; i < def->numbers; i++)
		if (is_signed(class, i))
			record_zigzag(&r, (int64_t)def->number[i]);
		else
			record_varint(&r, def->number[i]);
	record_end(&r, RECORD_OBJECT);
	left_out_add(object, class, def);
	return object | left_out;
}

uint32_t object_define(struct call *c, enum object_class class, const struct object_def *def)
{
	struct thread *t = thread_claim();
	uint32_t object;

	if (!t)
		return 0;
	object = object_define_in(t, c, class, def);
	thread_release(t);
	return object;
}

static struct interned *interned_table(void)
{
	uint64_t mask;

	if (!process_ready())
		return NULL;
	if (likely(process->interned))
		return process->interned;
	mask = process_lock();
	if (!process->interned)
		process->interned = memory_get(sizeof(struct interned), true);
	process_unlock(mask);
	return process->interned;
}

void objects_forget(void)
{
	memory_wipe(process->interned, sizeof(struct interned));
	path_chdir();
}

/* The entry of a hash, or a free one for it; NULL: no room. `known` is its number, 0 for a free one. */
static _Atomic uint32_t *intern(uint64_t hash, uint32_t *known)
{
	struct interned *table = interned_table();

	hash = hash ? hash : 1;
	for (uint32_t i = 0; table && i < PROBES; i++) {
		uint32_t slot = (uint32_t)(hash + i) % INTERNED;
		uint64_t there = atomic_load(&table->entry[slot].hash);

		if (!there &&
		    atomic_compare_exchange_strong(&table->entry[slot].hash, &there, hash))
			there = hash;
		if (there == hash) {
			*known = atomic_load(&table->entry[slot].number);
			return &table->entry[slot].number;
		}
	}
	*known = 0;
	return NULL;
}

static uint32_t path_object_in(struct thread *t, int dirfd, const char *path)
{
	struct object_def def = {.name = t->path};
	_Atomic uint32_t *entry;
	uint32_t object;

	path_absolute(t->path, sizeof(t->path), dirfd, path);
	entry = intern(text_hash(t->path, 0), &object);
	if (object)
		return object;
	object = object_define_in(t, NULL, OBJECT_PATH, &def);
	if (entry)
		atomic_store(entry, object);
	return object;
}

uint32_t path_object(int dirfd, const char *path)
{
	struct thread *t;
	uint32_t object;

	if ((uintptr_t)path < 4096 || levels_see_nothing()) /* no path: the call will say EFAULT */
		return 0;
	t = thread_claim();
	if (!t)
		return 0;
	object = path_object_in(t, dirfd, path);
	thread_release(t);
	return object;
}

static uint32_t named_object_in(struct thread *t, uint32_t parent, const char *name)
{
	struct object_def def = {.parent = parent, .name = name};
	_Atomic uint32_t *entry;
	uint32_t object;

	if (!name)
		return parent;
	entry = intern(text_hash(name, (parent & ~OBJECT_LEFT_OUT) + 1), &object);
	if (object)
		return object;
	object = object_define_in(t, NULL, OBJECT_NAMED, &def);
	if (entry)
		atomic_store(entry, object);
	return object;
}

uint32_t named_object(uint32_t parent, const char *name)
{
	struct thread *t = levels_see_nothing() ? NULL : thread_claim();
	uint32_t object;

	if (!t)
		return 0;
	object = named_object_in(t, parent, name);
	thread_release(t);
	return object;
}

bool object_is_first(uint64_t hash)
{
	uint32_t known;
	_Atomic uint32_t *entry = intern(hash, &known);

	if (entry)
		atomic_store(entry, 1);
	return !known;
}

void object_hint_in(struct thread *t, uint32_t object, bool in_force, const char *key,
		    const char *value)
{
	struct record r = record_begin(t);

	record_varint(&r, object & ~OBJECT_LEFT_OUT);
	record_varint(&r, in_force ? HINT_IN_FORCE : HINT_ASKED);
	record_string(&r, key);
	record_string(&r, value);
	record_end(&r, RECORD_HINT);
}

void object_hint(struct call *c, uint32_t object, bool in_force, const char *key, const char *value)
{
	struct thread *t = thread_claim();

	(void)c;
	if (!t)
		return;
	object_hint_in(t, object, in_force, key, value);
	thread_release(t);
}

void object_group(struct call *c, uint32_t object, const struct group_def *def)
{
	struct thread *t = thread_claim();
	struct record r;

	(void)c;
	if (!t)
		return;
	r = record_begin(t);
	record_varint(&r, object & ~OBJECT_LEFT_OUT);
	record_bytes8(&r, def->hash);
	record_varint(&r, def->size);
	record_varint(&r, def->ordinal);
	record_varint(&r, def->own);
	record_varint(&r, def->n);
	for (uint32_t i = 0; i < def->n; i++)
		record_varint(&r, def->rank[i]);
	record_end(&r, RECORD_GROUP);
	thread_release(t);
}

static uint64_t selection_hash(const struct selection_def *def)
{
	uint64_t hash = hash_mix(hash_mix(def->form, def->rank), (uint64_t)def->displacement);

	hash = hash_mix(hash_mix(hash_mix(hash_mix(hash, def->unit), def->period), def->total),
			def->hash);
	hash = hash_mix(hash, def->span);
	for (uint32_t i = 0; def->box && i < 2 * def->rank; i++)
		hash = hash_mix(hash, def->box[i]);
	for (uint32_t i = 0; i < 2 * def->rank * def->blocks; i++)
		hash = hash_mix(hash, def->block[i]);
	for (uint32_t p = 0; p < def->parts; p++) {
		hash = hash_mix(hash_mix(hash, def->part[p].start), def->part[p].bytes);
		for (uint32_t l = 0; l < def->part[p].levels; l++)
			hash = hash_mix(hash_mix(hash, def->part[p].level[l][0]),
					def->part[p].level[l][1]);
	}
	return hash;
}

static void put_parts(struct record *r, const struct selection_def *def)
{
	record_varint(r, def->parts);
	for (uint32_t p = 0; p < def->parts; p++) {
		record_varint(r, def->part[p].start);
		record_varint(r, def->part[p].bytes);
		record_varint(r, def->part[p].levels);
		for (uint32_t l = 0; l < def->part[p].levels; l++) {
			record_varint(r, def->part[p].level[l][0]);
			record_varint(r, def->part[p].level[l][1]);
		}
	}
}

static void put_selection(struct thread *t, uint32_t number, const struct selection_def *def)
{
	struct record r = record_begin(t);
	struct selection_def box;

	record_varint(&r, number);
	record_varint(&r, def->form);
	record_varint(&r, def->exact);
	record_varint(&r, def->rank);
	record_zigzag(&r, def->displacement);
	record_varint(&r, def->unit);
	record_varint(&r, def->period);
	record_varint(&r, def->total);
	for (uint32_t i = 0; i < 2 * def->rank; i++)
		record_varint(&r, def->box ? def->box[i] : 0);
	record_varint(&r, def->hash);
	record_varint(&r, def->blocks);
	for (uint32_t i = 0; i < 2 * def->rank * def->blocks; i++)
		record_varint(&r, def->block[i]);
	record_varint(&r, def->span);
	put_parts(&r, def);
	if (r.end - r.at < 10 &&
	    (def->blocks ||
	     def->parts)) { /* many blocks of high rank do not fit: the box says it */
		box = *def;
		box.blocks = box.parts = 0;
		box.exact = false;
		put_selection(t, number, &box);
		return;
	}
	record_end(&r, RECORD_SELECTION);
}

uint32_t selection_define(struct call *c, const struct selection_def *def)
{
	uint32_t number;
	_Atomic uint32_t *entry = intern(selection_hash(def), &number);
	struct thread *t;

	(void)c;
	if (number)
		return number;
	t = thread_claim();
	if (!t || definitions_end()) {
		if (t)
			thread_release(t);
		return 0;
	}
	number = atomic_fetch_add(&process->selections, 1) + 1;
	put_selection(t, number, def);
	shape_add(number, def);
	if (entry)
		atomic_store(entry, number);
	thread_release(t);
	return number;
}
