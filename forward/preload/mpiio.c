/* MPI-IO on forwarded files. The MPI library keeps its file, view, pointers, errors; a blocking read or write becomes one
 * list request: the view says where in the file its bytes are, the datatype where in memory. */
#include "mpiio.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "skin.h"

enum {
	MODE_CREATE = 1,
	MODE_RDONLY = 2,
	MODE_WRONLY = 4,
	MODE_EXCL = 64,
	MODE_SEQUENTIAL = 256,
	SEEK_FROM_START = 600,
	WINDOW = 4096, /* pieces of a request, as docs/forwarding-protocol.md allows */
};

struct view {
	int64_t displacement;
	uint64_t etype;          /* bytes */
	const struct node *node; /* of the filetype; NULL: it cannot be taken apart */
	struct arena arena;      /* has it */
	bool foreign;            /* its data is not as in memory */
};

/* A file that this process has open by MPI. What is decided by it alone, each rank decides alike. */
struct mpi_open {
	struct mpi_open *next;
	uintptr_t fh;
	int amode;
	bool held;      /* by us, at the server */
	bool unsettled; /* written since it was last synced */
	struct known known;
	struct view view;
};

static struct mpi_open *all_open; /* under own_lock */

static const struct node byte_node = {
	.extent = 1, .size = 1, .solid = true, .n = 1, .run = {.count = 1}};

static struct mpi_open *find(uintptr_t fh)
{
	struct mpi_open *m;

	own_lock();
	for (m = all_open; m && m->fh != fh; m = m->next)
		;
	own_unlock();
	return m;
}

static struct mpi_open *take_out(uintptr_t fh)
{
	struct mpi_open **at = &all_open, *m;

	own_lock();
	while (*at && (*at)->fh != fh)
		at = &(*at)->next;
	m = *at;
	if (m)
		*at = m->next;
	own_unlock();
	return m;
}

/* ---- a collective open: one rank looks the file up for all ---- */

static __thread const struct known *opening __attribute__((tls_model("initial-exec")));

const struct known *opened_by_all(const struct place *at)
{
	return opening && !at->by_handle && !at->slash && !strcmp(at->path, opening->path) ? opening
											   : NULL;
}

static uint32_t open_flags(int amode)
{
	uint32_t flags = FATHOM_FWD_READ | (amode & MODE_RDONLY ? 0 : FATHOM_FWD_WRITE);

	flags |= amode & MODE_CREATE ? FATHOM_FWD_CREATE : 0;
	return flags | (amode & MODE_CREATE && amode & MODE_EXCL ? FATHOM_FWD_EXCLUSIVE : 0);
}

/* What all ranks are told. */
struct lookup {
	int error;
	bool link; /* the name is a symbolic link */
	struct fathom_fwd_handle handle;
	struct fathom_fwd_attr attr;
	char server[ADDRESS]; /* it was asked */
};

static int open_lookup(struct asking *a, const char *path, uint32_t flags, struct lookup *lookup)
{
	return fathom_fwd_open(a->client, NULL, path, flags, 0666 & ~mask_now(), &lookup->handle,
			       &lookup->attr, &a->hints);
}

/* MPI's reserved hints of this name; what is not said is as the environment says. */
static struct fathom_fwd_striping striping_hints(const struct mpi_abi *abi, uintptr_t info)
{
	struct fathom_fwd_striping wish = settings()->striping;
	char value[32];
	int is_set;

	if (mpi_handle(abi, info) == abi->info_null)
		return wish;
	if (!abi->info_get(info, "striping_unit", sizeof(value) - 1, value, &is_set) && is_set)
		wish.size = strtoull(value, NULL, 10);
	if (!abi->info_get(info, "striping_factor", sizeof(value) - 1, value, &is_set) && is_set)
		wish.servers = (uint32_t)strtoul(value, NULL, 10);
	if (!abi->info_get(info, "start_iodevice", sizeof(value) - 1, value, &is_set) && is_set)
		wish.first = (uint32_t)strtoul(value, NULL, 10);
	return wish;
}

static void look_up_once(const struct place *at, int amode,
			 const struct fathom_fwd_striping *striping, struct lookup *lookup)
{
	const uint32_t flags = open_flags(amode);
	const int before = errno;
	struct asking a;

	lookup->error = asking_begin(&a, at->text);
	asking_mixed(&a);
	asking_makes(&a, striping);
	if (!lookup->error)
		lookup->error = open_lookup(&a, at->path, flags | FATHOM_FWD_NOFOLLOW, lookup);
	lookup->link = lookup->error == ELOOP;
	if (lookup->link)
		lookup->error = open_lookup(&a, at->path, flags, lookup);
	if (!lookup->error && !S_ISREG(lookup->attr.mode)) {
		fathom_fwd_release(a.client, &lookup->handle, &a.hints);
		lookup->error = EISDIR;
	}
	asking_end(&a, 0);
	errno = before;
}

static bool is_served(const struct mpiio_library *mpi, uintptr_t comm, const char *name, int amode,
		      struct place *at)
{
	int inter = 1;

	return mpi && name && !strchr(name, ':') && comm != mpi->abi->comm_null &&
	       !(amode & MODE_SEQUENTIAL) && place_find(at, AT_FDCWD, name) && *at->path &&
	       !at->slash && mpi->abi->comm_inter(comm, &inter) == 0 && !inter;
}

/* One rank asks for all, and one more time each that has another server. Whether it is open is what the first was told. */
static bool ask_for_all(const struct mpiio_library *mpi, uintptr_t comm, int rank,
			const struct place *at, int amode, uintptr_t info, struct lookup *lookup)
{
	const struct fathom_fwd_striping striping = striping_hints(mpi->abi, info);
	int ranks = 1;

	if (rank == 0)
		look_up_once(at, amode, &striping, lookup);
	snprintf(lookup->server, sizeof(lookup->server), "%s", settings()->address);
	if (mpi->abi->comm_size(comm, &ranks) != 0 ||
	    (ranks > 1 && mpi->bcast(lookup, sizeof(*lookup), mpi->abi->byte, 0, comm) != 0) ||
	    lookup->error)
		return false;
	if (strcmp(lookup->server, settings()->address) != 0)
		look_up_once(at, amode & ~(MODE_CREATE | MODE_EXCL), &striping, lookup);
	return true;
}

/* NULL: the library alone has it. */
static struct mpi_open *begin_open(uintptr_t comm, const char *name, int amode, uintptr_t info)
{
	const struct mpiio_library *mpi = settings() ? mpiio_library() : NULL;
	struct lookup lookup = {0};
	struct place at;
	struct mpi_open *m;
	int rank = 0;

	if (!is_served(mpi, comm, name, amode, &at) || mpi->abi->comm_rank(comm, &rank) != 0 ||
	    !ask_for_all(mpi, comm, rank, &at, amode, info, &lookup))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->amode = amode;
	m->held = rank == 0 || strcmp(lookup.server, settings()->address) != 0;
	m->held &= !lookup.error;
	m->known = (struct known){.handle = lookup.handle,
				  .attr = lookup.attr,
				  .link = lookup.link,
				  .here = !lookup.error,
				  .writable = !(amode & MODE_RDONLY)};
	snprintf(m->known.path, sizeof(m->known.path), "%s", at.path);
	m->view = (struct view){.etype = 1, .node = &byte_node};
	return m;
}

/* The library does not know of our writes, and does not wait for them. MPI's result. */
static int settle(struct mpi_open *m, enum fathom_fwd_level level)
{
	const int before = errno;
	struct asking a;
	int error;

	if (!m->unsettled)
		return 0;
	error = asking_begin(&a, m->known.path);
	if (!error)
		error = fathom_fwd_commit(a.client, &m->known.handle, level, NULL, &a.hints);
	asking_end(&a, error);
	m->unsettled = false;
	errno = before;
	return error ? mpiio_library()->abi->facts->error_io : 0;
}

/* By the file's error handler, which may not return. */
static int failed(uintptr_t fh, int code)
{
	if (code)
		mpiio_library()->call_errhandler(fh, code);
	return code;
}

static void forget(struct mpi_open *m)
{
	const int before = errno;
	struct asking a;

	if (m->held && !asking_begin(&a, m->known.path))
		fathom_fwd_release(a.client, &m->known.handle, &a.hints);
	if (m->held)
		asking_end(&a, 0);
	arena_end(&m->view.arena);
	free(m);
	errno = before;
}

int forward_MPI_File_open(next_MPI_File_open *next, uintptr_t comm, const char *filename, int amode,
			  uintptr_t info, uintptr_t *fh)
{
	struct mpi_open *m = begin_open(comm, filename, amode, info);
	int result;

	opening = m && m->known.here ? &m->known : NULL;
	result = next(comm, filename, amode, info, fh);
	opening = NULL;
	if (!m)
		return result;
	if (result) {
		forget(m);
		return result;
	}
	m->fh = *fh;
	own_lock();
	m->next = all_open;
	all_open = m;
	own_unlock();
	return result;
}

int forward_MPI_File_close(next_MPI_File_close *next, uintptr_t *fh)
{
	struct mpi_open *m = fh ? take_out(*fh) : NULL;
	const bool accepted = m && settings()->level == FATHOM_FWD_ACCEPTED;
	const int lost = accepted ? settle(m, FATHOM_FWD_WRITTEN) : 0;
	const int result = next(fh);

	if (m)
		forget(m);
	return result ? result : lost;
}

int forward_MPI_File_sync(next_MPI_File_sync *next, uintptr_t fh)
{
	struct mpi_open *m = find(fh);
	const int lost = m ? settle(m, FATHOM_FWD_SYNCED) : 0;
	const int result = next(fh);

	return result ? result : failed(fh, lost);
}

/* ---- views ---- */

int forward_MPI_File_set_view(next_MPI_File_set_view *next, uintptr_t fh, int64_t disp,
			      uintptr_t etype, uintptr_t filetype, const char *datarep,
			      uintptr_t info)
{
	struct mpi_open *m = find(fh);
	int result = next(fh, disp, etype, filetype, datarep, info);
	int64_t bytes = 0;

	if (result || !m)
		return result;
	const struct mpi_abi *abi = mpiio_library()->abi;

	arena_end(&m->view.arena);
	m->view = (struct view){.displacement = disp, .foreign = strcmp(datarep, "native") != 0};
	if (abi->type_size(etype, &bytes) == 0 && bytes > 0)
		m->view.etype = (uint64_t)bytes;
	m->view.node = take_apart(abi, &m->view.arena, filetype, 0);
	return result;
}

/* ---- data ---- */

struct access {
	struct mpi_open *m;
	bool writing;
	struct pieces file, memory;
	struct iovec *vector;
};

static int ask_once(struct asking *a, struct access *access, uint64_t *done)
{
	const struct fathom_fwd_handle *handle = &access->m->known.handle;
	const struct pieces *file = &access->file;

	if (!access->writing)
		return fathom_fwd_read(a->client, handle, access->vector, access->memory.n,
				       file->piece, file->n, done, &a->hints);
	access->m->unsettled = true;
	asking_mixed(a);
	a->hints.level = settings()->level;
	return fathom_fwd_write(a->client, handle, access->vector, access->memory.n, file->piece,
				file->n, done, &a->hints);
}

/* A server that does not know the handle, one of several or one that was started anew, is asked by name. */
static bool found_again(struct asking *a, struct mpi_open *m, int error)
{
	struct fathom_fwd_handle handle;

	if (error != ESTALE || fathom_fwd_open(a->client, NULL, m->known.path,
					       open_flags(m->amode & ~(MODE_CREATE | MODE_EXCL)), 0,
					       &handle, NULL, &a->hints))
		return false;
	if (memcmp(&handle, &m->known.handle, sizeof(handle)) == 0 && !m->held)
		return m->held = true;
	fathom_fwd_release(a->client, &handle, &a->hints);
	return memcmp(&handle, &m->known.handle, sizeof(handle)) == 0;
}

static int ask(struct access *access, uint64_t *done)
{
	struct asking a;
	int error = asking_begin(&a, access->m->known.path);

	for (uint32_t i = 0; i < access->memory.n; i++)
		access->vector[i] =
			(struct iovec){(void *)(uintptr_t)access->memory.piece[i].offset,
				       access->memory.piece[i].length};
	*done = 0;
	if (!error)
		error = ask_once(&a, access, done);
	if (found_again(&a, access->m, error))
		error = ask_once(&a, access, done);
	return asking_end(&a, error);
}

enum { NOT_OURS = -1, FAILED = -2 }; /* of bytes that moved */

/* Bytes that moved, fewer than `total` at the end of the file; or FAILED. */
static int64_t move(struct access *access, const struct node *memory, int64_t base, uint64_t total,
		    uint64_t from)
{
	const struct view *view = &access->m->view;
	uint64_t at = 0;

	while (at < total) {
		uint64_t moved = 0, both;

		pieces_take(&access->memory, memory, base, at, total - at);
		pieces_take(&access->file, view->node, view->displacement, from + at, total - at);
		both = access->memory.bytes < access->file.bytes ? access->memory.bytes
								 : access->file.bytes;
		pieces_cut(&access->memory, both);
		pieces_cut(&access->file, both);
		if (ask(access, &moved))
			return FAILED;
		at += moved;
		if (moved < both)
			break;
	}
	return (int64_t)at;
}

/* With room for as many pieces as a request may have. */
static int64_t move_in_room(struct access *access, const struct node *memory, int64_t base,
			    uint64_t total, uint64_t from)
{
	struct room {
		struct fathom_fwd_extent file[WINDOW], memory[WINDOW];
		struct iovec vector[WINDOW];
	} *room = malloc(sizeof(*room));
	int64_t moved;

	if (!room)
		return NOT_OURS;
	access->file = (struct pieces){.piece = room->file, .room = WINDOW};
	access->memory = (struct pieces){.piece = room->memory, .room = WINDOW};
	access->vector = room->vector;
	moved = move(access, memory, base, total, from);
	free(room);
	return moved;
}

/* NOT_OURS: what the library is to do, or to refuse. */
static int64_t transfer(struct access *access, int64_t offset, const void *buf, int64_t count,
			uintptr_t datatype)
{
	const struct view *view = &access->m->view;
	const struct mpi_abi *abi = mpiio_library()->abi;
	const struct node *memory;
	struct arena arena;
	uint64_t total, from;
	int64_t moved = NOT_OURS;

	if (offset < 0 || count < 0 || datatype == abi->datatype_null || !view->node ||
	    !view->node->size || !view->etype ||
	    __builtin_mul_overflow((uint64_t)offset, view->etype, &from))
		return NOT_OURS;
	arena_begin(&arena);
	memory = take_apart(abi, &arena, datatype, 0);
	if (memory && !__builtin_mul_overflow((uint64_t)count, memory->size, &total) &&
	    total <= INT64_MAX && total % view->etype == 0)
		moved = total ? move_in_room(access, memory, (int64_t)(intptr_t)buf, total, from)
			      : 0;
	arena_end(&arena);
	return moved;
}

/* The library's own, of this rank alone: the others may have been served. */
static int alone(uintptr_t fh, int64_t offset, void *buf, int64_t count, uintptr_t datatype,
		 struct mpi_status *status, unsigned int how)
{
	const struct mpiio_library *mpi = mpiio_library();

	if (how & MPIIO_POINTER)
		return how & MPIIO_WRITE ? mpi->write(fh, buf, count, datatype, status)
					 : mpi->read(fh, buf, count, datatype, status);
	return how & MPIIO_WRITE ? mpi->write_at(fh, offset, buf, count, datatype, status)
				 : mpi->read_at(fh, offset, buf, count, datatype, status);
}

/* By what all ranks know alike, so a collective call is served for all of them or for none. */
static bool is_ours(const struct mpi_open *m, unsigned int how)
{
	int atomic = 0;

	return m && settings()->mpiio && !m->view.foreign &&
	       !(m->amode & (how & MPIIO_WRITE ? MODE_RDONLY : MODE_WRONLY)) &&
	       mpiio_library()->atomicity(m->fh, &atomic) == 0 && !atomic;
}

int mpiio_data(uintptr_t fh, int64_t offset, void *buf, int64_t count, uintptr_t datatype,
	       struct mpi_status *status, unsigned int how)
{
	struct access access = {.m = find(fh), .writing = how & MPIIO_WRITE};
	const int before = errno;
	int64_t moved = NOT_OURS;

	if (!is_ours(access.m, how))
		return MPIIO_HAND_ON;
	const struct mpiio_library *mpi = mpiio_library();

	if (!(how & MPIIO_POINTER) || mpi->position(fh, &offset) == 0)
		moved = transfer(&access, offset, buf, count, datatype);
	errno = before;
	if (moved == FAILED)
		return failed(fh, mpi->abi->facts->error_io);
	if (moved == NOT_OURS)
		return alone(fh, offset, buf, count, datatype, status, how);
	if (how & MPIIO_POINTER)
		mpi->seek(fh, offset + moved / (int64_t)access.m->view.etype, SEEK_FROM_START);
	if ((uintptr_t)status != mpi->abi->facts->status_ignore)
		mpi->set_elements(status, mpi->abi->byte, moved);
	return 0;
}
