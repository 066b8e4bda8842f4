/* fathom_fwd.h: begin, end, and what is asked of the server itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "compress.h"
#include "old_libc.h"

enum {
	CONNECT_TIMEOUT = 10000, /* ms */
	FIRST_PAUSE = 20,        /* ms */
	CALL_FIELDS = 64,        /* of a call, but its name */
};

static char *own_name(void)
{
	char host[64] = "", name[256];

	gethostname(host, sizeof(host) - 1);
	snprintf(name, sizeof(name), "%.100s %s %d", program_invocation_short_name, host,
		 (int)getpid());
	return strdup(name);
}

static int describe_client(struct fathom_fwd *c, const char *server,
			   const struct fathom_fwd_options *options)
{
	c->address = strdup(server);
	c->name = options->name ? strdup(options->name) : own_name();
	c->munge = options->munge ? strdup(options->munge) : NULL;
	c->timeout = options->timeout;
	c->checksum = options->checksum;
	c->compress = options->compress;
	if (c->compress && !compress_begin())
		return ELIBACC;
	if (!c->address || !c->name || (options->munge && !c->munge))
		return ENOMEM;
	return options->token_file ? session_token(c, options->token_file) : 0;
}

/* A server that is not there is told at once. One that ends while it greets is there, and may be started again. */
static int first_connection(struct fathom_fwd *c, uint32_t timeout)
{
	int64_t due = now_ms() + timeout;
	struct verdict verdict;
	bool greeted = false;
	int error;

	for (;;) {
		error = session_begin(c, &c->link, &c->server, due, &verdict);
		greeted |= error == ECONNRESET || error == EPIPE;
		if (!error || !greeted || verdict.final || now_ms() >= due)
			break;
		usleep(FIRST_PAUSE * 1000);
	}
	c->up = !error;
	memcpy(c->why, verdict.why, sizeof(c->why));
	return error;
}

static void free_client(struct fathom_fwd *c)
{
	engine_end(c);
	free(c->address);
	free(c->name);
	free(c->munge);
	wipe(c->token, sizeof(c->token));
	free(c);
}

static const char *advice(int code)
{
	switch (code) {
	case EINVAL:
		return "an address is unix:PATH, tcp:HOST:PORT or ofi:HOST:PORT";
	case ELIBACC:
		return "data is to be compressed and libzstd.so.1 is not installed";
	case EACCES:
		return "is it your server, the right token, a token file of mode 0600?";
	default:
		return "is it running? See `fathom-engine forward`";
	}
}

static void tell(struct fathom_fwd_error *error, const char *server, int code, const char *why)
{
	if (!error)
		return;
	*error = (struct fathom_fwd_error){.code = code};
	snprintf(error->server, sizeof(error->server), "%s", server);
	snprintf(error->what, sizeof(error->what), "connecting to server %.100s: %s; %s", server,
		 strerror(code), *why ? why : advice(code));
}

int fathom_fwd_init(struct fathom_fwd **client, const char *server,
		    const struct fathom_fwd_options *options, struct fathom_fwd_error *error)
{
	static const struct fathom_fwd_options usual;
	struct fathom_fwd *c = calloc(1, sizeof(*c));
	int before = errno, code;

	options = options ? options : &usual;
	if (!c)
		return ENOMEM;
	c->lowest = options->lowest;
	code = engine_begin(c);
	if (!code)
		code = describe_client(c, server, options);
	if (!code)
		code = first_connection(c, options->connect ? options->connect : CONNECT_TIMEOUT);
	if (code) {
		tell(error, server, code, c->why);
		free_client(c);
		c = NULL;
	}
	*client = c;
	errno = before;
	return code;
}

void fathom_fwd_finalize(struct fathom_fwd *client)
{
	int before = errno;

	if (!client)
		return;
	engine_lock(client); /* a child lets go of what is its parent's first */
	engine_unlock(client);
	free_client(client);
	errno = before;
}

int fathom_fwd_ping(struct fathom_fwd *client, struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_PING, NULL, 0, 0))
		call_ask(&k);
	return call_end(&k);
}

int fathom_fwd_status(struct fathom_fwd *client, char *json, size_t size,
		      struct fathom_fwd_hints *hints)
{
	struct call k;
	const uint8_t *answer;
	size_t bytes;

	if (call_begin(&k, client, hints, FWD_OP_STATUS, NULL, 0, 0) || call_ask(&k))
		return call_end(&k);
	answer = get_rest(&k.r, &bytes);
	if (bytes >= size)
		call_fail(&k, ENOBUFS, "the status is longer than there is room");
	if (size) {
		bytes = bytes < size ? bytes : size - 1;
		if (bytes)
			memcpy(json, answer, bytes);
		json[bytes] = 0;
	}
	return call_end(&k);
}

/* Behind the fields and hints goes what the operation is given. */
static int ask_operation(struct call *k, const char *name, const struct fathom_fwd_handle *file,
			 const struct iovec *given, uint32_t room)
{
	snprintf(k->request->file, sizeof(k->request->file), "%s", name);
	put_call(&k->w, or_root(file), name, room);
	call_hints(k);
	put_bytes(&k->w, given->iov_base, given->iov_len);
	return call_post(k) ? k->code : call_wait(k);
}

int fathom_fwd_call(struct fathom_fwd *client, const char *name,
		    const struct fathom_fwd_handle *file, const struct iovec *given, void *reply,
		    size_t room, size_t *length, struct fathom_fwd_hints *hints)
{
	static const struct iovec nothing;
	const uint8_t *answer;
	struct call k;
	size_t fields;

	given = given ? given : &nothing;
	fields = CALL_FIELDS + strlen(name) +
		 (given->iov_len <= FWD_LIMIT_CALL ? given->iov_len : 0);
	*length = 0;
	if (call_begin(&k, client, hints, FWD_OP_CALL, file, fields, 0))
		return call_end(&k);
	if (given->iov_len > FWD_LIMIT_CALL)
		call_fail(&k, EMSGSIZE, "more than an operation is given");
	room = room < FWD_LIMIT_CALL ? room : FWD_LIMIT_CALL;
	if (k.code || ask_operation(&k, name, file, given, (uint32_t)room))
		return call_end(&k);
	answer = get_rest(&k.r, length);
	if (*length > room) {
		call_fail(&k, EPROTO, "the server's answer is longer than it may be");
		*length = 0;
	}
	if (*length)
		memcpy(reply, answer, *length);
	return call_end(&k);
}
