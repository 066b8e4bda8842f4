/* What the rows of catalog/probes/mpiio.toml use, and what the MPI-IO handlers share. */
#ifndef FATHOM_MPIIO_H
#define FATHOM_MPIIO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/call.h"

struct mpi_abi;
struct mpi_file;
struct mpi_status; /* 20 bytes in MPICH, 24 in Open MPI */
/* A request handle: by value it travels in one register, a pointer leads to 4 or 8 bytes and is never followed
 * as this type. */
struct mpi_request {
	uintptr_t handle;
};

/* Hooks of rows with `always` run in unrecorded calls too: there c->thread is NULL and c->error says
 * nothing. In a call that the same call around it absorbed (MPI_X over PMPI_X) they keep still. */
static inline bool mpi_absorbed(const struct call *c)
{
	return !c->thread && c->cancel;
}

/* ---- ranks (mpiio_file.c) ---- */
void mpi_started(struct call *c, int result);
void mpi_aborting(int code);

/* ---- files (mpiio_file.c) ---- */
uint32_t mpi_file_object(uintptr_t file);
uint32_t mpi_file_object_at(const uintptr_t *file);
uint32_t mpi_path_object(const char *name);
uint32_t mpi_name_left_out(const char *name); /* as path_left_out */
/* The name without the file system that ROMIO lets one put before it ("ufs:/tmp/f"). */
const char *mpi_bare_name(const char *name);
void mpi_opened(struct call *c, uintptr_t comm, const char *name, int amode, uintptr_t info,
		const uintptr_t *file);
void mpi_closing(struct call *c, const uintptr_t *file);
void mpi_closed(struct call *c, int result);
void mpi_hinted(struct call *c, uintptr_t file, uintptr_t info);

/* ---- views and positions (mpiio_view.c) ---- */
void mpi_view_set(struct call *c, int result, uintptr_t file, int64_t displacement, uintptr_t etype,
		  uintptr_t filetype, const char *datarep, uintptr_t info);
void mpi_view_define(struct call *c, struct mpi_file *file);
void mpi_sought(const struct call *c, int result, uintptr_t file, int64_t offset, int whence);
void mpi_learn_position(struct call *c, uintptr_t file, const int64_t *offset);
int64_t mpi_first_byte(uintptr_t file, int64_t offset); /* absolute byte of an offset in etypes */
int64_t mpi_pointer_byte(uintptr_t file);               /* that of the individual pointer */
int64_t mpi_offset_at(const int64_t *offset);
int64_t mpi_int_at(const int *number);
int64_t mpi_whence(int whence); /* 0 set, 1 current, 2 end */

/* ---- data (mpiio_data.c) ---- */
int64_t mpi_bytes(int64_t count, uintptr_t datatype); /* -1: datatype not seen yet */
void mpi_collective(struct call *c, uintptr_t file);
void mpi_data(struct call *c, uintptr_t file, bool collective, struct mpi_status **status);
void mpi_data_done(struct call *c, int result, bool pointer, int64_t count, uintptr_t datatype);
void mpi_posted(struct call *c, int result, bool pointer, int64_t count, uintptr_t datatype,
		const struct mpi_request *request);
void mpi_split_begun(struct call *c, int result, bool pointer, int64_t count, uintptr_t datatype);
int64_t mpi_split_size(uintptr_t file);
void mpi_split_end(struct call *c, uintptr_t file, struct mpi_status **status);
void mpi_split_ended(struct call *c, int result);
int64_t mpi_turn(const struct call *c);
int64_t mpi_selection(const struct call *c);
int64_t mpi_given(const struct call *c);
int64_t mpi_moved(const struct call *c, const struct mpi_status *status);
/* After a call that succeeded: asks for the datatype's size when it is not known yet. */
int64_t mpi_learn_bytes(int64_t count, uintptr_t datatype);
/* What a call that did not fail reads or writes in memory, once its bytes were learnt and its fields filled. */
void mpi_tell_memory(struct call *c, int64_t count, uintptr_t datatype);
void mpi_type_freed(const uintptr_t *datatype);

/* ---- completions (mpiio_wait.c) ---- */
bool mpi_awaits_io(int count,
		   const struct mpi_request *requests); /* is one of them of an I/O call? */
void mpi_pend(struct call *c, uintptr_t request, int64_t size);
void mpi_wait(struct call *c, int count, const struct mpi_request *requests,
	      struct mpi_status **status, bool array);
void mpi_waited(struct call *c, int result, const struct mpi_request *requests,
		const struct mpi_status *status, bool array, const int *completed, const int *some);
void mpi_released(struct call *c, int result);
void mpi_cancelled(struct call *c);

/* ---- shared by the handlers ---- */

/* Where a view puts its bytes: blocks of one period, in file order. */
struct mpi_layout {
	uint64_t total;       /* bytes in one period */
	uint64_t period;      /* extent of the filetype */
	uint64_t start, span; /* of the bytes of one period */
	uint64_t hash;
	uint32_t blocks;       /* given in block[] */
	bool exact;            /* these are all of it */
	uint64_t block[64][2]; /* start, count */
	uint32_t parts;        /* when they are not: these are all of it, where there are any */
	struct repeated part[8];
};
/* Blocks of a datatype, merged where they touch; false: it cannot be taken apart. */
bool mpi_flatten(const struct mpi_abi *abi, uintptr_t datatype, struct mpi_layout *out);
/* Fills in the parts of a layout of too many blocks, from the datatype's tree; none where it is not that regular. */
struct node;
void mpi_parts_gather(const struct node *node, struct mpi_layout *out);
/* The k-th byte, in file order, of one period of such a layout. */
uint64_t mpi_parts_place(const struct mpi_layout *layout, uint64_t k);
/* In canonical form, as a row of table `selections`; 0 for every byte from 0. */
uint32_t mpi_layout_define(struct call *c, const struct mpi_layout *layout, int64_t displacement);

/* An open MPI file. Written by collective calls of the thread that has it; positions by all. */
struct mpi_file {
	_Atomic uint32_t used;
	uint32_t object;
	_Atomic uint32_t turns;   /* collective calls so far */
	_Atomic int64_t position; /* of the individual pointer, in etypes; or UNKNOWN_OFFSET */
	uint32_t selection;       /* the view's; 0: every byte from 0 */
	bool mapped;              /* layout says where bytes are */
	bool undefined; /* the selection is yet to be defined: the view was set unrecorded */
	int64_t displacement;
	uint64_t etype; /* bytes; 0: unknown */
	struct mpi_layout layout;
	struct call_ref split; /* the split collective call that was begun */
	int64_t split_size;
	struct call_ref opened; /* by this call */
	struct group_def group;
};
struct mpi_file *mpi_file(uintptr_t file); /* NULL: not known */
/* The group of the last MPI file that was opened inside `c`; NULL if none was. */
const struct group_def *mpi_group_inside(const struct call *c);

/* What hooks of one call keep in struct call.scratch. */
enum {
	KEEP_FILE,
	KEEP_TURN,
	KEEP_SELECTION,
	KEEP_GIVEN,
	KEEP_STATUS, /* and the three after it */
};

/* The world ranks of a communicator, by local calls; the ordinal is that of the next collective open. */
bool mpi_group(const struct mpi_abi *abi, uintptr_t comm, struct group_def *out);
uint32_t mpi_next_ordinal(uint64_t group_hash);
void mpi_hints(struct call *c, const struct mpi_abi *abi, uint32_t object, bool in_force,
	       uintptr_t info);

#endif
