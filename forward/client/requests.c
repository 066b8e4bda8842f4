/* The list of requests in flight, in the order of their numbers. */
#include "engine.h"

#include <stdlib.h>

void request_free(struct fathom_fwd_request *r)
{
	memory_free(&r->memory);
	if (r->extents != &r->extent)
		free(r->extents);
	free(r->body);
	free(r->reply);
	free(r);
}

void request_unlink(struct fathom_fwd *c, struct fathom_fwd_request *r)
{
	struct fathom_fwd_request *before = NULL;

	for (struct fathom_fwd_request *q = c->first; q != r; q = q->next)
		before = q;
	if (before)
		before->next = r->next;
	else
		c->first = r->next;
	if (c->last == r)
		c->last = before;
}

struct fathom_fwd_request *request_find(struct fathom_fwd *c, uint64_t seq)
{
	struct fathom_fwd_request *r = c->first;

	while (r && (r->head.seq != seq || !request_is_open(r)))
		r = r->next;
	return r;
}

bool request_window_is_open(const struct fathom_fwd *c)
{
	const struct fathom_fwd_request *r = c->first;

	while (r && !request_is_open(r))
		r = r->next;
	return !r || c->next_seq - r->head.seq < c->server.window;
}
