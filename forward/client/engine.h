/* The client: one connection, requests in flight, and who moves their bytes. */
#ifndef FWD_ENGINE_H
#define FWD_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "fathom_fwd.h"
#include "flock.h"
#include "ledger.h"
#include "memory.h"
#include "messages.h"
#include "transport.h"

/* Who has locks on a file. */
struct lock_line {
	struct fathom_fwd_handle handle;
	uint64_t owner;
	bool whole;
	bool lost; /* at the server; the owner was not told yet */
	struct span span;
};

struct locks {
	struct lock_line *line;
	uint32_t n, room;
};

enum {
	TOKEN_BYTES = 256,
	FILE_BYTES = 128,    /* of a file's name in messages */
	WHY = TRANSPORT_WHY, /* of what is said of a connection */
};

/* A frame that waits to be sent: a request, or the part of its data that was pulled. */
struct out {
	struct out *next;
	struct fathom_fwd_request *request;
	uint64_t at; /* of the data */
	uint32_t length;
	uint32_t sent; /* bytes of the frame */
	bool data;
	uint8_t *packed; /* the data compressed, `length` bytes; NULL: as it is in memory */
	uint8_t head[FWD_FRAME_HEADER + 8];
};

struct fathom_fwd_request {
	struct fathom_fwd_request *next; /* in order of seq; owned by who waits, once answered */
	struct frame head;
	struct out out;
	uint8_t *body; /* fields, hints and data that go with them */
	struct memory memory;
	uint64_t received; /* bytes of a read that came in data frames */
	uint8_t *reply;
	struct frame reply_head;
	int64_t due; /* ms */
	bool answered;
	bool begun;            /* some of it may have been sent */
	uint8_t locked;        /* fathom_fwd_locked_by */
	const uint64_t *owner; /* as long as the caller waits; NULL: any */
	uint16_t owners;
	bool abandoned;                    /* nobody waits, its memory is no longer ours */
	int lost;                          /* errno: it will not be answered */
	uint64_t offset, length;           /* the range, for messages */
	struct fathom_fwd_extent *extents; /* of a read */
	struct fathom_fwd_extent extent;   /* the only one: it costs no allocation */
	uint32_t n;
	struct fathom_fwd_handle handle;
	char file[FILE_BYTES];              /* its name in messages, if the caller gave one */
	const struct fathom_fwd_path *path; /* of its files, as long as the caller waits */
	uint32_t paths;
	uint32_t hints_at; /* in the body */
	bool has_paths;    /* the body names them */
};

struct server { /* what hello said */
	uint64_t epoch;
	uint32_t window;
	uint32_t inline_bytes;
	uint32_t piece;
	uint64_t data;
	uint32_t deadline;
	bool unlocked;   /* it keeps no lock of ours */
	bool compresses; /* data may be compressed, both ways */
	bool goes_on;    /* all that the one before had accepted is written */
};

/* Data of a read that goes from the connection to its place in the user's memory. */
struct landing {
	struct fathom_fwd_request *request; /* NULL: none is under way */
	uint64_t left;
};

/* All below `lock` is written with it held, but for `link` while `up` is false and `pumping` is true. */
struct fathom_fwd {
	_Atomic int *whose; /* connection it is: OURS; in memory that is zeros after a fork */
	char *address;
	char *name;
	char token[TOKEN_BYTES];
	char *munge;      /* munged's socket, "": the usual one; NULL: not by munge */
	uint32_t timeout; /* ms, 0: the server's */
	bool checksum;
	bool compress;   /* it is asked for */
	uint32_t lowest; /* number of our descriptors */

	pthread_mutex_t lock;
	pthread_cond_t moved; /* something was answered, or nobody pumps */
	bool pumping;         /* a thread waits and reads for all */
	int wake;             /* eventfd: there is more to send */
	uint64_t id;
	uint8_t key[KEY_BYTES];
	struct server server;
	struct link link;
	bool up;                 /* link is connected and known to the server */
	bool broken;             /* the pumping thread is to close it */
	int refused;             /* errno: connecting again is of no use */
	int trouble;             /* errno of the last attempt to connect, 0 */
	char why[WHY];           /* what more is known of it */
	const char *broken_rule; /* of the protocol, by the server; NULL */
	int64_t next_attempt;    /* ms */
	int pause;               /* ms, between attempts */
	uint64_t next_seq;
	struct fathom_fwd_request *first, *last;
	struct out *out_first, *out_last;
	uint32_t outs;
	uint8_t *in; /* its bytes are the pumping thread's alone */
	size_t in_room, in_have;
	size_t in_need; /* of the frame that they begin with */
	struct landing landing;
	struct ledger ledger;
	struct locks locks;
};

/* ---- requests.c: the list ---- */
void request_free(struct fathom_fwd_request *r);
void request_unlink(struct fathom_fwd *c, struct fathom_fwd_request *r);
/* The one of this number that is open; or NULL. */
struct fathom_fwd_request *request_find(struct fathom_fwd *c, uint64_t seq);
/* One more may be sent. */
bool request_window_is_open(const struct fathom_fwd *c);

static inline bool request_is_open(const struct fathom_fwd_request *r)
{
	return !r->answered && !r->lost;
}

/* ---- paths.c ---- */
/* Its files' paths become a part of it. False: they are, or it has none. */
bool request_add_paths(struct fathom_fwd_request *r);

/* ---- sending.c: what waits to be sent ---- */
void outs_free(struct fathom_fwd *c);
void outs_add_request(struct fathom_fwd *c, struct fathom_fwd_request *r);
/* A part of its data; 0 or an errno. */
int outs_add_data(struct fathom_fwd *c, struct fathom_fwd_request *r, uint64_t at, uint32_t length);
/* Sends what can be sent at once. */
void outs_flush(struct fathom_fwd *c);
bool outs_has(const struct fathom_fwd *c, const struct fathom_fwd_request *r);

/* ---- receiving.c ---- */
/* Takes what came, all of it. */
void engine_receive(struct fathom_fwd *c);

/* ---- engine.c ---- */
int engine_begin(struct fathom_fwd *c);
void engine_end(struct fathom_fwd *c);
/* Locks the client; after a fork makes the child's own. */
void engine_lock(struct fathom_fwd *c);
void engine_unlock(struct fathom_fwd *c);
/* What the server takes; another one may say otherwise later. */
struct server engine_server(struct fathom_fwd *c);
/* With the lock held: queues a request, waits for room in the window first. It then belongs to the client's list. */
int engine_post(struct fathom_fwd *c, struct fathom_fwd_request *r);
/* Waits for the answer; 0 or why there is none. */
int engine_wait(struct fathom_fwd *c, struct fathom_fwd_request *r);
/* Moves what can be moved at once. */
void engine_progress(struct fathom_fwd *c);
/* Frees a request that is answered or was never posted; another is abandoned. */
void engine_drop(struct fathom_fwd *c, struct fathom_fwd_request *r);

/* ---- locks.c ---- */
void locks_lost(struct locks *l);
/* Those that the caller had on its file, and was not told yet. */
bool locks_are_lost(const struct locks *l, const struct fathom_fwd_request *r);
void locks_free(struct locks *l);

/* ---- session.c ---- */
/* What came of connecting. */
struct verdict {
	bool final;    /* it would be the same next time */
	char why[WHY]; /* "": the errno says it */
};
/* Connects and says hello; 0 or an errno. */
int session_begin(const struct fathom_fwd *c, struct link *link, struct server *server, int64_t due,
		  struct verdict *verdict);
int session_identity(struct fathom_fwd *c);
int session_token(struct fathom_fwd *c, const char *file);

#endif
