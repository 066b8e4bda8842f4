/* Locks. The server keeps them; here is kept who has some, so that it hears when they are lost. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "call.h"
#include "flock.h"
#include "old_libc.h"

enum {
	FIELDS = 73,    /* handle and claim */
	PAUSE = 10,     /* ms, before a wait that the server broke off goes on */
	CONNECT = 5000, /* ms */
};

static struct lock_line *line_of(struct locks *l, const struct fathom_fwd_handle *handle,
				 const struct fathom_fwd_lock *lock)
{
	bool whole = lock->flags & FATHOM_FWD_LOCK_WHOLE;

	for (uint32_t i = 0; i < l->n; i++)
		if (l->line[i].owner == lock->owner && l->line[i].whole == whole &&
		    !memcmp(&l->line[i].handle, handle, sizeof(*handle)))
			return &l->line[i];
	return NULL;
}

/* A lock of a session is its session's, not this client's. */
static int note(struct locks *l, const struct fathom_fwd_handle *handle,
		const struct fathom_fwd_lock *lock)
{
	struct lock_line *line = line_of(l, handle, lock);

	if (lock->session)
		return 0;
	if (line) {
		span_widen(&line->span, lock);
		return 0;
	}
	line = l->line;
	if (l->n == l->room) {
		uint32_t room = l->room ? 2 * l->room : 8;

		line = realloc(line, room * sizeof(*line));
		if (!line)
			return ENOMEM;
		l->line = line;
		l->room = room;
	}
	line[l->n++] = (struct lock_line){.handle = *handle,
					  .owner = lock->owner,
					  .whole = lock->flags & FATHOM_FWD_LOCK_WHOLE,
					  .span = span_of(lock)};
	return 0;
}

static void forget(struct locks *l, struct lock_line *line)
{
	*line = l->line[--l->n];
}

static void note_unlocked(struct locks *l, const struct fathom_fwd_handle *handle,
			  const struct fathom_fwd_lock *lock)
{
	struct lock_line *line = lock->session ? NULL : line_of(l, handle, lock);

	if (line && span_narrow(&line->span, lock))
		forget(l, line);
}

static bool is_owner(const struct fathom_fwd_request *r, uint64_t owner)
{
	for (uint16_t i = 0; i < r->owners; i++)
		if (r->owner[i] == owner)
			return true;
	return !r->owner;
}

bool locks_are_lost(const struct locks *l, const struct fathom_fwd_request *r)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->line[i].lost && is_owner(r, l->line[i].owner) &&
		    !memcmp(&l->line[i].handle, &r->handle, sizeof(r->handle)))
			return true;
	return false;
}

void locks_lost(struct locks *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		l->line[i].lost = true;
}

void locks_free(struct locks *l)
{
	free(l->line);
	*l = (struct locks){.line = NULL};
}

/* Its owner is told once. */
static int check_lost(struct call *k, const struct fathom_fwd_lock *lock)
{
	struct locks *l = &k->client->locks;
	struct lock_line *line = line_of(l, &k->request->handle, lock);

	if (lock->session || !line || !line->lost)
		return 0;
	forget(l, line);
	return call_fail(k, ENOLCK,
			 "what was locked is locked no more: the server was started anew, or the "
			 "connection was away");
}

static int ask(struct call *k, struct fathom_fwd *c, uint16_t op,
	       const struct fathom_fwd_handle *handle, const struct fathom_fwd_lock *lock,
	       struct fathom_fwd_hints *hints)
{
	if (call_begin(k, c, hints, op, handle, FIELDS, 0) || check_lost(k, lock))
		return k->code;
	k->request->offset = lock->start;
	k->request->length = lock->length;
	put_claim(&k->w, handle, lock);
	if (call_ask(k))
		return k->code;
	return check_lost(k, lock); /* it may be found out on the way */
}

static int lock_once(struct fathom_fwd *c, const struct fathom_fwd_handle *handle,
		     const struct fathom_fwd_lock *lock, struct fathom_fwd_hints *hints)
{
	struct call k;
	bool unwanted = false;

	if (!ask(&k, c, FWD_OP_LOCK, handle, lock, hints)) {
		if (note(&c->locks, handle, lock))
			unwanted = call_fail(&k, ENOMEM, "its loss could not be told");
	} else {
		unwanted = k.r.at && !k.request->reply_head.status; /* granted all the same */
	}
	if (!unwanted)
		return call_end(&k);
	call_end(&k);
	fathom_fwd_unlock(c, handle, lock, NULL);
	return k.code;
}

static uint32_t time_for(struct fathom_fwd *c, const struct fathom_fwd_hints *hints)
{
	return hints->timeout ? hints->timeout
	       : c->timeout   ? c->timeout
			      : engine_server(c).deadline;
}

/* The server breaks a wait off where the window would close over it: it goes on until the time is over. */
int fathom_fwd_lock(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		    const struct fathom_fwd_lock *lock, struct fathom_fwd_hints *hints)
{
	struct fathom_fwd_hints none = {.timeout = 0}, *h = hints ? hints : &none;
	uint32_t asked = h->timeout;
	int64_t due = now_ms() + time_for(client, h), left;
	int error;

	for (;;) {
		error = lock_once(client, handle, lock, h);
		left = due - now_ms() - PAUSE;
		if (error != EAGAIN || !(lock->flags & FATHOM_FWD_LOCK_WAIT) || left <= 0)
			break;
		usleep(PAUSE * 1000);
		h->timeout = (uint32_t)left;
	}
	h->timeout = asked;
	return error;
}

int fathom_fwd_unlock(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		      const struct fathom_fwd_lock *lock, struct fathom_fwd_hints *hints)
{
	struct fathom_fwd_lock none = *lock;
	struct call k;

	none.mode = FATHOM_FWD_LOCK_NONE;
	none.flags &= FATHOM_FWD_LOCK_WHOLE;
	if (!ask(&k, client, FWD_OP_UNLOCK, handle, &none, hints))
		note_unlocked(&client->locks, handle, lock);
	return call_end(&k);
}

int fathom_fwd_locked(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		      struct fathom_fwd_lock *lock, struct fathom_fwd_hints *hints)
{
	struct fathom_fwd_lock conflict;
	struct call k;

	if (!ask(&k, client, FWD_OP_LOCKED, handle, lock, hints)) {
		conflict = get_claim(&k.r);
		if (!k.r.bad)
			*lock = conflict;
	}
	return call_end(&k);
}

int fathom_fwd_has_locks(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
			 const struct fathom_fwd_lock *lock)
{
	int before = errno, has;

	engine_lock(client);
	has = line_of(&client->locks, handle, lock) != NULL;
	engine_unlock(client);
	errno = before;
	return has;
}

int fathom_fwd_session(struct fathom_fwd *client, uint64_t *session, int *fd)
{
	struct fathom_fwd *other = calloc(1, sizeof(*other));
	int before = errno, error;
	struct verdict verdict;

	if (!other)
		return ENOMEM;
	engine_lock(client); /* its name, address and token stay as they are */
	*other = (struct fathom_fwd){.address = client->address,
				     .name = client->name,
				     .munge = client->munge,
				     .checksum = client->checksum,
				     .lowest = client->lowest};
	memcpy(other->token, client->token, sizeof(other->token));
	engine_unlock(client);
	error = session_identity(other);
	if (!error)
		error = session_begin(other, &other->link, &other->server, now_ms() + CONNECT,
				      &verdict);
	if (!error && other->link.state) { /* not a descriptor alone, so no child of fork has it */
		other->link.transport->close(&other->link);
		error = ENOTSUP;
	}
	if (!error) {
		*session = other->id;
		*fd = other->link.fd;
	}
	wipe(other->token, sizeof(other->token));
	free(other);
	errno = before;
	return error;
}
