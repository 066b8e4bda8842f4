/* One call of the API: a request made, asked, its reply read, its error told. */
#ifndef FWD_CALL_H
#define FWD_CALL_H

#include "engine.h"

struct call {
	struct fathom_fwd *client;
	struct fathom_fwd_hints *hints; /* never NULL */
	struct fathom_fwd_hints none;   /* where the caller gave none */
	struct fathom_fwd_request *request;
	struct writer w; /* the request's fields */
	struct reader r; /* the reply's fields */
	int errno_before;
	int code; /* what the call returns */
};

/* Begins a request with room for `room` bytes of fields and, where the server takes as many inline, `data` bytes
 * behind them. `file`: what it is about, NULL: the root. 0, or what call_end will return. */
int call_begin(struct call *k, struct fathom_fwd *c, struct fathom_fwd_hints *hints, uint16_t op,
	       const struct fathom_fwd_handle *file, size_t room, uint64_t data);
/* Ends the fields: hints follow. */
void call_hints(struct call *k);
int call_post(struct call *k);
/* Waits; the reply's fields are then in k->r. */
int call_wait(struct call *k);
/* call_hints, call_post, call_wait. */
int call_ask(struct call *k);
/* Says what went wrong on our side. */
int call_fail(struct call *k, int code, const char *why);
/* The reply must end here (unless it failed); frees the request, returns the call's code. */
int call_end(struct call *k);
/* Of a request that was posted before. */
void call_resume(struct call *k, struct fathom_fwd *c, struct fathom_fwd_hints *hints,
		 struct fathom_fwd_request *r);

const struct fathom_fwd_handle *or_root(const struct fathom_fwd_handle *handle);

#endif
