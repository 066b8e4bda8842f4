/* Descriptors: fd -> what it is open on and where it stands. One array load to look up, wiped by a fork (a
 * child's descriptors share their offsets with us: both stop tracking). */
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/descriptors.h"
#include "core/lustre.h"
#include "core/objects.h"
#include "core/ops.h"
#include "core/state.h"
#include "core/thread.h"
#include "core/levels.h"
#include "core/process.h"
#include "core/raw.h"
#include "core/text.h"

enum { DESCRIPTIONS_PER_SLAB = 1024 };

/* Why a position is not known. */
enum { SHARED = 1 /* with another process */, LOST = 2 /* until the next seek */ };

/* An open file description: shared by dup'ed descriptors. */
struct description {
	_Atomic int64_t position;
	_Atomic uint32_t references;
	_Atomic uint32_t in_flight; /* tracked reads and writes between position and advance */
	_Atomic bool contended;     /* two of them overlapped: neither knows its offset */
	_Atomic uint8_t unknown;    /* why the position is not known */
	_Atomic int64_t ahead; /* of a stream on it: from `position` to where the program stands */
	bool append, seekable;
	uint32_t object;
	_Atomic(struct description *) next_free;
};

_Atomic(struct descriptor_table *) descriptors;

static bool make_table(void)
{
	struct descriptor_table *none = NULL, *table = memory_get(sizeof(*table), true);

	return table && (atomic_compare_exchange_strong(&descriptors, &none, table) || none);
}

static struct descriptor *slot_of(int fd, bool make)
{
	uint32_t page = (uint32_t)fd / FDS_PER_PAGE;
	struct descriptor *fresh, *current = NULL;

	if (fd < 0 || page >= FD_PAGES)
		return NULL;
	if (unlikely(!descriptors) && !(make && make_table()))
		return NULL;
	current = atomic_load_explicit(&descriptors->page[page], memory_order_acquire);
	if (likely(current) || !make)
		return current ? &current[fd % FDS_PER_PAGE] : NULL;
	fresh = memory_get(FDS_PER_PAGE * sizeof(*fresh), true);
	if (!fresh)
		return NULL;
	if (!atomic_compare_exchange_strong(&descriptors->page[page], &current, fresh))
		fresh = current; /* another thread was first */
	return &fresh[fd % FDS_PER_PAGE];
}

static inline struct description *description_of(int fd)
{
	struct descriptor_table *all = atomic_load_explicit(&descriptors, memory_order_relaxed);
	struct descriptor *page;

	if (unlikely(!all || (unsigned)fd >= FDS_PER_PAGE * FD_PAGES))
		return NULL;
	page = atomic_load_explicit(&all->page[(unsigned)fd / FDS_PER_PAGE], memory_order_acquire);
	return likely(page) ? atomic_load_explicit(&page[(unsigned)fd % FDS_PER_PAGE].description,
						   memory_order_acquire)
			    : NULL;
}

/* ---- descriptions are recycled, never returned: a late reader sees old numbers, not freed memory ---- */

/* The list of free ones: an address, and in the bits above it how often the list changed, so that a head that
 * came back is not taken for one that stayed. */
enum { ADDRESS_BITS = 48 };

static struct description *first_free(uint64_t list)
{
	return (struct description *)(uintptr_t)(list & ((1ull << ADDRESS_BITS) - 1));
}

static uint64_t changed(uint64_t list, const struct description *first)
{
	return ((list >> ADDRESS_BITS) + 1) << ADDRESS_BITS | (uintptr_t)first;
}

static struct description *free_take(void)
{
	uint64_t list = atomic_load(&descriptors->free);
	struct description *d;

	do {
		d = first_free(list);
		if (!d)
			return NULL;
	} while (!atomic_compare_exchange_weak(&descriptors->free, &list,
					       changed(list, atomic_load(&d->next_free))));
	return d;
}

static void free_give(struct description *first, struct description *last)
{
	uint64_t list = atomic_load(&descriptors->free);

	do
		atomic_store(&last->next_free, first_free(list));
	while (!atomic_compare_exchange_weak(&descriptors->free, &list, changed(list, first)));
}

static struct description *slab_make(void)
{
	struct description *d = memory_get(DESCRIPTIONS_PER_SLAB * sizeof(*d), true);

	if (!d)
		return NULL;
	for (int i = 1; i + 1 < DESCRIPTIONS_PER_SLAB; i++)
		d[i].next_free = &d[i + 1];
	free_give(&d[1], &d[DESCRIPTIONS_PER_SLAB - 1]);
	return d;
}

static struct description *description_make(void)
{
	struct description *d = free_take();

	if (!d)
		d = slab_make();
	if (!d)
		return NULL;
	memset(d, 0, sizeof(*d));
	d->references = 1;
	return d;
}

static void description_drop(struct description *d)
{
	if (d && atomic_fetch_sub(&d->references, 1) == 1)
		free_give(d, d);
}

/* ---- what it is open on ---- */

static descriptor_teller *_Atomic teller;

void descriptor_ask(descriptor_teller *who)
{
	atomic_store(&teller, who);
}

static void tell(int fd, struct statx *st)
{
	descriptor_teller *who = atomic_load_explicit(&teller, memory_order_relaxed);

	memset(st, 0, sizeof(*st));
	if (!who || !who(fd, st))
		raw6(SYS_statx, fd, (long)"", AT_EMPTY_PATH | 0x4000 /* AT_STATX_DONT_SYNC */,
		     STATX_TYPE | STATX_MODE | STATX_INO | STATX_BTIME, (long)st, 0);
}

/* On which OSTs it lies, once for each file. */
static void tell_layout(struct thread *t, uint32_t object, int fd, const struct statx *st)
{
	const uint64_t file = st->stx_ino ^ (uint64_t)st->stx_dev_minor << 40;
	struct lustre_layout *layout;
	char bytes[24];

	if (likely(!lustre_has(fd, st)) || !object_is_first(file ^ text_hash("lustre.lov", 0)))
		return;
	layout = lustre_layout_of(fd);
	if (!layout)
		return;
	object_hint_in(t, object, true, "osts", layout->osts);
	text_decimal(bytes, layout->stripe_bytes);
	if (layout->stripe_bytes)
		object_hint_in(t, object, true, "striping_unit", bytes);
	lustre_release(layout);
}

static uint32_t define(struct thread *t, struct call *c, int fd, int flags, uint64_t how,
		       mode_t *mode)
{
	struct object_def def = {.name = t->path, .numbers = 10};
	struct statx st;
	uint32_t object;

	tell(fd, &st);
	*mode = st.stx_mode;
	def.number[0] = (uint64_t)fd;
	def.number[1] = st.stx_mode;
	def.number[2] = st.stx_dev_major;
	def.number[3] = st.stx_dev_minor;
	def.number[4] = st.stx_ino;
	def.number[5] = st.stx_mask & STATX_BTIME ? (uint64_t)st.stx_btime.tv_sec : 0;
	def.number[6] = st.stx_mask & STATX_BTIME ? st.stx_btime.tv_nsec : 0;
	def.number[7] = (uint64_t)(unsigned)flags;
	def.number[8] = 0;
	def.number[9] = how;
	object = object_define_in(t, c, OBJECT_DESCRIPTOR, &def);
	tell_layout(t, object, fd, &st);
	return object;
}

/* A vfork child has descriptors of its own but our table: what it opens is kept with its thread. */
static void vfork_child_has(struct thread *t, int fd, uint32_t object)
{
	t->own_descriptor[t->own_descriptors % OWN_DESCRIPTORS].fd = fd;
	t->own_descriptor[t->own_descriptors % OWN_DESCRIPTORS].object = object;
	t->own_descriptors++;
}

static uint32_t vfork_child_object(const struct thread *t, int fd, uint32_t parents)
{
	for (uint32_t i = t->own_descriptors; i-- > 0 && t->own_descriptors - i <= OWN_DESCRIPTORS;)
		if (t->own_descriptor[i % OWN_DESCRIPTORS].fd == fd)
			return t->own_descriptor[i % OWN_DESCRIPTORS].object;
	return t->own_descriptors > OWN_DESCRIPTORS ? 0 : parents; /* 0: some are forgotten */
}

static void install(int fd, struct description *d, bool cloexec)
{
	struct descriptor *slot = slot_of(fd, true);

	if (!slot) {
		description_drop(d);
		return;
	}
	atomic_store(&slot->cloexec, cloexec);
	atomic_store(&slot->object, d ? d->object : 0);
	description_drop(atomic_exchange(&slot->description, d));
}

static uint32_t open_in(struct thread *t, struct call *c, int fd, int dirfd, const char *path,
			int flags)
{
	struct description *d;
	mode_t mode;
	uint32_t object;

	if ((flags & O_TMPFILE) == O_TMPFILE)
		path = NULL; /* that is its directory */
	path_absolute(t->path, sizeof(t->path), path ? dirfd : fd, path ? path : "");
	object = define(t, c, fd, flags, 0, &mode);
	if (t->is_vfork) {
		vfork_child_has(t, fd, object);
		return object;
	}
	d = description_make();
	if (!d)
		return 0;
	d->object = object;
	d->append = flags & O_APPEND;
	d->seekable = S_ISREG(mode) || S_ISBLK(mode);
	install(fd, d, flags & O_CLOEXEC);
	return object;
}

uint32_t descriptor_open(struct call *c, int fd, int dirfd, const char *path, int flags)
{
	struct thread *t = fd >= 0 && slot_of(fd, true) ? thread_claim() : NULL;
	uint32_t object;

	if (!t)
		return 0;
	object = open_in(t, c, fd, dirfd, path, flags);
	thread_release(t);
	return object;
}

/* A descriptor that this image did not open: from its parent, or from a call that we do not see. `name`: of
 * what it stands for; NULL: nothing but itself. */
static uint32_t inherit_in(struct thread *t, int fd, const char *name)
{
	const uint64_t how = name ? DESCRIPTOR_STANDS_FOR : DESCRIPTOR_INHERITED;

	struct descriptor *slot = slot_of(fd, true);
	struct description *d, *none = NULL;
	mode_t mode;

	path_absolute(t->path, sizeof(t->path), fd, name ? name : "");
	if (!slot || !t->path[0])
		return 0; /* not open */
	if (in_vfork_child()) {
		vfork_child_has(self, fd, define(t, NULL, fd, 0, how, &mode));
		return vfork_child_object(self, fd, 0);
	}
	d = description_make();
	if (!d)
		return 0;
	d->object = define(t, NULL, fd, 0, how, &mode);
	d->unknown = SHARED;
	if (atomic_compare_exchange_strong(&slot->description, &none, d)) {
		atomic_store(&slot->object, d->object);
		return d->object;
	}
	description_drop(d);
	return none->object;
}

static uint32_t inherit(int fd, const char *name)
{
	struct thread *t = fd < 0 || levels_see_nothing() ? NULL : thread_claim();
	uint32_t object;

	if (!t)
		return 0;
	object = inherit_in(t, fd, name);
	thread_release(t);
	return object;
}

static inline uint32_t object_of(int fd, const char *name)
{
	struct descriptor_table *all = atomic_load_explicit(&descriptors, memory_order_relaxed);
	struct descriptor *page =
		all && (unsigned)fd < FDS_PER_PAGE * FD_PAGES
			? atomic_load_explicit(&all->page[fd / FDS_PER_PAGE], memory_order_acquire)
			: NULL;
	uint32_t object =
		page ? atomic_load_explicit(&page[fd % FDS_PER_PAGE].object, memory_order_relaxed)
		     : 0;

	if (unlikely(in_vfork_child()))
		object = vfork_child_object(self, fd, object);
	return likely(object) ? object : inherit(fd, name);
}

uint32_t descriptor_object(int fd)
{
	return object_of(fd, NULL);
}

uint32_t descriptor_stands_for(int fd, const char *path)
{
	return object_of(fd, path);
}

/* ---- where it stands ---- */

/* Is this thread inside a tracked call on the same object? A preload tool passes it on to libc: the outer
 * call moves the position, not this one. */
static bool repeats(uint32_t object)
{
	const struct thread *t = self;
	const struct open_call *o = t && t->depth ? &t->page->open[t->depth - 1] : NULL;

	return o && o->object == (object & ~OBJECT_LEFT_OUT) && op_of(o->op)->tracked;
}

static inline int64_t position_of(struct description *d)
{
	int64_t position;

	if (!d || d->append || !d->seekable ||
	    atomic_load_explicit(&d->unknown, memory_order_relaxed) || in_vfork_child())
		return UNKNOWN_OFFSET;
	position = atomic_load(&d->position);
	if (atomic_fetch_add(&d->in_flight, 1)) {
		if (repeats(d->object)) {
			atomic_fetch_sub(&d->in_flight, 1);
			return UNKNOWN_OFFSET;
		}
		atomic_store(&d->contended, true);
	}
	return position;
}

int64_t descriptor_position(int fd)
{
	return position_of(description_of(fd));
}

int64_t descriptor_advance(int fd, int64_t from, int64_t bytes)
{
	struct description *d = description_of(fd);
	bool contended;

	if (from == UNKNOWN_OFFSET || !d)
		return from;
	contended = atomic_load(&d->contended);
	if (bytes > 0)
		atomic_fetch_add(&d->position, bytes);
	if (atomic_fetch_sub(&d->in_flight, 1) == 1)
		atomic_store(&d->contended, false);
	return contended ? UNKNOWN_OFFSET : from;
}

void descriptor_seek(int fd, int64_t position)
{
	struct description *d = description_of(fd);

	if (!d || in_vfork_child())
		return;
	atomic_store(&d->position, position);
	atomic_fetch_and(&d->unknown, (uint8_t)~LOST);
}

/* ---- where a stream of libc on it stands: its buffer is ahead of the kernel when written, behind when read ---- */

int64_t stream_position(int fd, int64_t ahead)
{
	struct description *d = description_of(fd);
	int64_t position, known;

	if (!d)
		return UNKNOWN_OFFSET;
	if (atomic_load_explicit(&d->references, memory_order_relaxed) > 1)
		atomic_fetch_or(&d->unknown, LOST); /* there may be another stream on it */
	position = position_of(d);
	if (position == UNKNOWN_OFFSET)
		return UNKNOWN_OFFSET;
	known = atomic_load_explicit(&d->ahead, memory_order_relaxed);
	/* More is ahead than we know: macros put or took characters. Less: libc wrote the buffer out while it
	 * did something else, and the program stands where it stood. */
	return position + (ahead > known ? ahead : known);
}

int64_t stream_advance(int fd, int64_t from, int64_t to, int64_t ahead)
{
	struct description *d = description_of(fd);
	bool contended;

	if (from == UNKNOWN_OFFSET || !d)
		return from;
	contended = atomic_load(&d->contended);
	if (contended || to == UNKNOWN_OFFSET) {
		atomic_fetch_or(&d->unknown, LOST);
	} else {
		atomic_store(&d->position, to - ahead);
		atomic_store_explicit(&d->ahead, ahead, memory_order_relaxed);
	}
	if (atomic_fetch_sub(&d->in_flight, 1) == 1)
		atomic_store(&d->contended, false);
	return contended ? UNKNOWN_OFFSET : from;
}

void stream_seek(int fd, int64_t to, int64_t ahead)
{
	struct description *d = description_of(fd);

	if (!d || in_vfork_child())
		return;
	if (to == UNKNOWN_OFFSET) {
		atomic_fetch_or(&d->unknown, LOST);
		return;
	}
	atomic_store_explicit(&d->ahead, ahead, memory_order_relaxed);
	descriptor_seek(fd, to - ahead);
}

/* ---- its life ---- */

void descriptor_close(int fd)
{
	struct descriptor *slot = slot_of(fd, false);

	if (!slot || in_vfork_child())
		return;
	atomic_store(&slot->object, 0);
	description_drop(atomic_exchange(&slot->description, NULL));
}

void descriptor_dup(int from, int to, bool cloexec)
{
	uint32_t object = descriptor_object(from);
	struct description *d;

	if (from == to || to < 0)
		return;
	if (in_vfork_child()) {
		vfork_child_has(self, to, object);
		return;
	}
	d = description_of(from);
	if (d)
		atomic_fetch_add(&d->references, 1);
	install(to, d, cloexec);
}

void descriptor_cloexec(int fd, bool on)
{
	struct descriptor *slot = slot_of(fd, false);

	if (slot && !in_vfork_child())
		atomic_store(&slot->cloexec, on);
}

void descriptor_flags(int fd, int flags)
{
	struct description *d = description_of(fd);

	if (!d || in_vfork_child())
		return;
	if (d->append && !(flags & O_APPEND))
		atomic_fetch_or(&d->unknown, LOST); /* it stands at what was the file's end */
	d->append = flags & O_APPEND;
}

void descriptor_close_range(unsigned first, unsigned last)
{
	for (unsigned fd = first; descriptors && fd <= last && fd / FDS_PER_PAGE < FD_PAGES; fd++) {
		if (!atomic_load(&descriptors->page[fd / FDS_PER_PAGE]))
			fd |= FDS_PER_PAGE - 1; /* none of this page */
		else
			descriptor_close((int)fd);
	}
}

void process_shared_descriptors(bool only_across_exec)
{
	for (uint32_t page = 0; descriptors && page < FD_PAGES; page++) {
		struct descriptor *slot = atomic_load(&descriptors->page[page]);

		for (uint32_t i = 0; slot && i < FDS_PER_PAGE; i++) {
			struct description *d = atomic_load(&slot[i].description);

			if (d && !(only_across_exec && atomic_load(&slot[i].cloexec)))
				atomic_fetch_or(&d->unknown, SHARED);
		}
	}
}
