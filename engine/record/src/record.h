/* What encoder.rs calls: a server of ours records its requests and its accesses to the store. */
#ifndef FATHOM_RECORD_H
#define FATHOM_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A client's call that is worked for, as it came with the request; stream 0: it is not traced. */
struct server_caller {
	uint64_t stream;
	uint64_t seq;
	uint64_t bytes; /* of the access: the call's own */
};

/* A request that has its answer: a row of layer `server`. */
struct server_request {
	uint32_t op;
	int32_t error;
	int64_t file;     /* a descriptor of the file that it was about; -1: none */
	uint64_t arrived; /* server_now() */
	int64_t queued;   /* ns until the first access to the store began, without its data's */
	int64_t pulled;   /* of a write: ns that its data was asked for and had not come */
	int64_t size, offset, bytes;
	const char *
		known_as; /* the file's path where it is another's part, or no descriptor's; NULL */
	const struct server_caller *callers;
	size_t count;
};

/* The run to record into; NULL: what FATHOM_RUN says. False: nothing is recorded. */
bool server_begin(const char *run);
/* In a server that runs, by `settings` instead of its environment (core/process.h). False: it is recorded already, or
 * not to be. */
bool server_attach(const char *settings);
const char *server_run(void); /* that it is recorded in; NULL: none */
/* Writes out what is recorded; it can begin again. */
void server_end(void);
uint64_t server_now(void);
uint32_t server_op(const char *layer, const char *name); /* UINT32_MAX: there is none */
/* One more operation of the server; while there is only one thread. UINT32_MAX: there is no room. */
uint32_t server_new_op(const char *name);

void server_request(const struct server_request *request);
/* What an access is about. `path`, if not NULL, is relative to the directory `file`; `known_as`, if not NULL, is the
 * path by which programs know it. */
struct server_place {
	int file;
	const char *path, *known_as;
};
/* An access to the store, by this thread: a row of layer `disk`; one at a time. */
void server_enter(uint32_t op, const struct server_place *place, int64_t size, int64_t offset);
/* `together`: these calls' bytes were put together into one access; else it serves each of them. */
void server_leave(int32_t error, int64_t bytes, const struct server_caller *callers, size_t count,
		  bool together);
/* A descriptor is about to be closed: its number will be another file's. */
void server_closed(int file);

/* past_rows.c: what another server says that it did, once it is over. From each thread one after another, none of
 * which begins before the one before has ended. */
struct server_past {
	uint32_t op;
	uint32_t store_op; /* UINT32_MAX: nothing was done to the store */
	uint32_t file;     /* server_file_number(); 0: not known */
	int32_t error;
	uint64_t began, stored_from, stored_to, ended; /* ticks */
	int64_t queued;                                /* ns before it was begun with */
	/* Of what moves data: bytes asked for, place in the file (UNKNOWN_OFFSET), bytes that moved. From the place on
	 * they are pieces that end at multiples of `unit`, each `stride` bytes behind the one before. 0: one piece. */
	int64_t size, offset, bytes, unit, stride;
	const char *object; /* what the server calls it */
};
void server_past(const struct server_past *past);
uint32_t server_file_number(int file); /* a number that outlives the descriptor */
/* One moment by the clock of rows, and in ns since 1970. */
void server_moment(uint64_t *ticks, uint64_t *realtime);
/* One line into the run's log. */
void server_note(const char *line);

#endif
