/* The beginning of a connection: hello, and on TCP the proof of the token or of the user, both ways. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine.h"
#include "munge.h"
#include "old_libc.h"
#include "sha256.h"

enum {
	GREETING = 4096, /* bytes of any frame of the handshake, both ways */
};

struct greeting { /* an answer of the server, with its body */
	struct frame head;
	uint8_t body[GREETING];
};

static struct reader body_of(const struct greeting *g)
{
	return (struct reader){.at = g->body, .end = g->body + g->head.body};
}

int session_identity(struct fathom_fwd *c)
{
	do {
		if (!random_bytes(&c->id, sizeof(c->id)) || !random_bytes(c->key, KEY_BYTES))
			return EIO;
	} while (c->id == 0);
	return 0;
}

/* The first line, without white space around it. */
static void trim(char *token)
{
	char *first = token + strspn(token, " \t");
	size_t length = strcspn(first, "\r\n");

	while (length && strchr(" \t", first[length - 1]))
		length--;
	memmove(token, first, length);
	token[length] = 0;
}

/* The file must be ours alone, as the token is all that a server asks for. */
static int read_token(int fd, char *token)
{
	struct stat about;
	ssize_t n;

	if (fstat(fd, &about))
		return errno;
	if (about.st_uid != geteuid() || about.st_mode & 077)
		return EACCES;
	n = read(fd, token, TOKEN_BYTES - 1);
	if (n < 0)
		return errno;
	token[n] = 0;
	trim(token);
	return *token ? 0 : EINVAL;
}

int session_token(struct fathom_fwd *c, const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), error;

	if (fd < 0)
		return errno;
	error = read_token(fd, c->token);
	close(fd);
	return error;
}

static int send_all(struct link *link, const void *bytes, size_t length, int64_t due)
{
	struct iovec part = {(void *)(uintptr_t)bytes, length};

	while (part.iov_len) {
		ssize_t n = link->transport->send(link, &part, 1);
		int error = n == -EAGAIN ? wait_fd(link->fd, link_events(link, POLLOUT), due)
			    : n < 0      ? (int)-n
					 : 0;

		if (error)
			return error;
		if (n > 0) {
			part.iov_base = (char *)part.iov_base + n;
			part.iov_len -= (size_t)n;
		}
	}
	return 0;
}

static int receive_all(struct link *link, void *bytes, size_t length, int64_t due)
{
	uint8_t *at = bytes;

	while (length) {
		ssize_t n = link->transport->receive(link, at, length);
		int error = n == -EAGAIN ? wait_fd(link->fd, link_events(link, POLLIN), due)
			    : n == 0     ? ECONNRESET
			    : n < 0      ? (int)-n
					 : 0;

		if (error)
			return error;
		if (n > 0) {
			at += n;
			length -= (size_t)n;
		}
	}
	return 0;
}

static int say(const struct fathom_fwd *c, struct link *link, uint16_t op, uint8_t *frame,
	       const struct writer *w, int64_t due)
{
	struct frame head = {.kind = FWD_KIND_REQUEST, .op = op, .client = c->id};

	if (w->full)
		return EMSGSIZE;
	head.body = (uint32_t)(w->at - frame - FWD_FRAME_HEADER);
	frame_encode(frame, &head);
	return send_all(link, frame, FWD_FRAME_HEADER + head.body, due);
}

static int hear(const struct fathom_fwd *c, struct link *link, uint16_t op, struct greeting *g,
		int64_t due)
{
	uint8_t head[FWD_FRAME_HEADER];
	int error = receive_all(link, head, sizeof(head), due);

	if (error)
		return error;
	if (frame_decode(&g->head, head) || g->head.kind != FWD_KIND_REPLY || g->head.op != op ||
	    g->head.client != c->id || g->head.seq != 0 || g->head.body > GREETING)
		return EPROTO;
	error = receive_all(link, g->body, g->head.body, due);
	if (!error && frame_check_body(&g->head, g->body))
		error = EPROTO;
	return error;
}

/* What a side proves: which of the two it is, both nonces, the client. */
struct statement {
	uint8_t bytes[128];
	size_t length;
};

static struct statement state(const struct fathom_fwd *c, const char *who,
			      const uint8_t theirs[NONCE_BYTES], const uint8_t ours[NONCE_BYTES])
{
	struct statement s;
	struct writer w = {.at = s.bytes, .end = s.bytes + sizeof(s.bytes)};

	put_bytes(&w, who, strlen(who));
	put_bytes(&w, theirs, NONCE_BYTES);
	put_bytes(&w, ours, NONCE_BYTES);
	put_u64(&w, c->id);
	s.length = (size_t)(w.at - s.bytes);
	return s;
}

static void sign(const struct fathom_fwd *c, const struct statement *s, uint8_t proof[PROOF_BYTES])
{
	struct hmac h;

	hmac_begin(&h, c->token, strlen(c->token));
	hmac_add(&h, s->bytes, s->length);
	hmac_end(&h, proof);
}

/* What each of the two must state. */
struct statements {
	struct statement client, server;
};

static int prove_token(const struct fathom_fwd *c, struct link *link, struct greeting *g,
		       const struct statements *s, int64_t due)
{
	uint8_t frame[FWD_FRAME_HEADER + PROOF_BYTES + 2], proof[PROOF_BYTES];
	struct writer w = {.at = frame + FWD_FRAME_HEADER, .end = frame + sizeof(frame)};
	struct reader r;
	const uint8_t *hint;
	int error;

	sign(c, &s->client, proof);
	put_bytes(&w, proof, PROOF_BYTES);
	put_hints(&w, NULL, 0);
	if ((error = say(c, link, FWD_OP_AUTH, frame, &w, due)) ||
	    (error = hear(c, link, FWD_OP_AUTH, g, due)) || g->head.status)
		return error;
	sign(c, &s->server, proof);
	r = body_of(g);
	get_session(&r);
	hint = get_hint(&r, FWD_HINT_PROOF, PROOF_BYTES);
	return hint && same_proof(hint, proof) ? 0 : EACCES; /* it does not know the token either */
}

static struct munge_statement by_munge(const struct fathom_fwd *c, const struct statement *s)
{
	return (struct munge_statement){c->munge, s->bytes, s->length, geteuid()};
}

static int prove_user(const struct fathom_fwd *c, struct link *link, struct greeting *g,
		      const struct statements *s, int64_t due, char *why)
{
	struct munge_statement mine = by_munge(c, &s->client), theirs = by_munge(c, &s->server);
	uint8_t frame[FWD_FRAME_HEADER + MUNGE_CREDENTIAL + 4];
	struct writer w = {.at = frame + FWD_FRAME_HEADER, .end = frame + sizeof(frame)};
	char credential[GREETING];
	struct reader r;
	struct text text;
	int error;

	if (!munge_seal(&mine, credential, why))
		return EACCES;
	put_text(&w, credential);
	put_hints(&w, NULL, 0);
	if ((error = say(c, link, FWD_OP_MUNGE, frame, &w, due)) ||
	    (error = hear(c, link, FWD_OP_MUNGE, g, due)) || g->head.status)
		return error;
	r = body_of(g);
	get_session(&r);
	text = get_text(&r);
	snprintf(credential, sizeof(credential), "%.*s", text.length, text.at);
	return munge_check(&theirs, credential, why) ? 0 : EACCES;
}

/* The server asked who we are: g is its challenge, and then its welcome. */
static int authenticate(const struct fathom_fwd *c, struct link *link, struct greeting *g,
			const uint8_t nonce[NONCE_BYTES], int64_t due, char *why)
{
	struct reader r = body_of(g), hints;
	const uint8_t *theirs;
	struct statements s;
	bool takes_munge;

	get_failure(&r);
	hints = r;
	theirs = get_hint(&r, FWD_HINT_NONCE, NONCE_BYTES);
	takes_munge = get_hint(&hints, FWD_HINT_MUNGE, 0) != NULL;
	if (!theirs)
		return EPROTO;
	s.client = state(c, "fathom-forward client", theirs, nonce);
	s.server = state(c, "fathom-forward server", theirs, nonce);
	if (c->munge && takes_munge)
		return prove_user(c, link, g, &s, due, why);
	if (*c->token)
		return prove_token(c, link, g, &s, due);
	snprintf(why, WHY, "it asks for %s",
		 c->munge      ? "a token, and takes no munge credential"
		 : takes_munge ? "a token or a munge credential"
			       : "a token");
	return EACCES;
}

/* The server's own words. */
static int refused(const struct greeting *g, char *why)
{
	struct reader r = body_of(g);
	struct failure failure = get_failure(&r);

	if (!r.bad)
		snprintf(why, WHY, "%.*s", failure.what.length, failure.what.at);
	return frame_errno(g->head.status);
}

static int welcomed(const struct fathom_fwd *c, const struct greeting *g, struct server *server,
		    char *why)
{
	struct reader r = body_of(g), hints, ended;
	struct session s;
	const uint8_t *format;

	if (g->head.status)
		return refused(g, why);
	s = get_session(&r);
	if (g->head.op == FWD_OP_MUNGE)
		get_text(&r);
	hints = ended = r;
	format = get_hint(&r, FWD_HINT_COMPRESS, 1);
	if (r.bad || r.at != r.end || !s.window || !s.piece || s.piece > FWD_LIMIT_PIECE)
		return EPROTO;
	*server = (struct server){s.epoch,
				  s.window,
				  s.inline_bytes,
				  s.piece,
				  s.data,
				  s.deadline,
				  get_hint(&hints, FWD_HINT_UNLOCKED, 0) != NULL,
				  format && *format == FWD_COMPRESS_ZSTD,
				  get_hint_u64(&ended, FWD_HINT_ENDED, c->server.epoch)};
	return 0;
}

static int greet(const struct fathom_fwd *c, struct link *link, struct server *server, int64_t due,
		 char *why)
{
	static const uint8_t formats[] = {FWD_COMPRESS_ZSTD};
	const struct fathom_fwd_hint compress = {FWD_HINT_COMPRESS, sizeof(formats), formats};
	uint8_t frame[GREETING], nonce[NONCE_BYTES];
	struct writer w = {.at = frame + FWD_FRAME_HEADER, .end = frame + sizeof(frame)};
	struct greeting g;
	int error;

	if (!random_bytes(nonce, sizeof(nonce)))
		return EIO;
	put_hello(&w, c->key, nonce, c->name);
	put_hints(&w, &compress, c->compress);
	if ((error = say(c, link, FWD_OP_HELLO, frame, &w, due)) ||
	    (error = hear(c, link, FWD_OP_HELLO, &g, due)))
		return error;
	if (g.head.status == FWD_STATUS_AUTH &&
	    (error = authenticate(c, link, &g, nonce, due, why)))
		return error;
	return welcomed(c, &g, server, why);
}

int session_begin(const struct fathom_fwd *c, struct link *link, struct server *server, int64_t due,
		  struct verdict *verdict)
{
	int error;

	*verdict = (struct verdict){.final = false};
	error = link_open(link, c->address, due, verdict->why);
	if (!error) {
		link->fd = raise_fd(link->fd, c->lowest);
		error = greet(c, link, server, due, verdict->why);
		if (error)
			link->transport->close(link);
	}
	verdict->final = error == EACCES || error == EPROTONOSUPPORT || error == EINVAL;
	return error;
}
