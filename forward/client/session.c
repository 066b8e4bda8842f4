/* The beginning of a connection: hello, and on TCP the proof of the token, both ways. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine.h"
#include "sha256.h"

enum {
	GREETING = 4096, /* bytes of any frame of the handshake, both ways */
};

struct greeting { /* an answer of the server, with its body */
	struct frame head;
	uint8_t body[GREETING];
};

int session_identity(struct fathom_fwd *c)
{
	do {
		if (getrandom(&c->id, sizeof(c->id), 0) != sizeof(c->id) ||
		    getrandom(c->key, KEY_BYTES, 0) != KEY_BYTES)
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
		int error = n == -EAGAIN ? wait_fd(link->fd, POLLOUT, due) : n < 0 ? (int)-n : 0;

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
		int error = n == -EAGAIN ? wait_fd(link->fd, POLLIN, due)
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

static void prove(const struct fathom_fwd *c, const char *who, const uint8_t theirs[NONCE_BYTES],
		  const uint8_t ours[NONCE_BYTES], uint8_t proof[PROOF_BYTES])
{
	uint8_t id[8];
	struct writer w = {.at = id, .end = id + sizeof(id)};
	struct hmac h;

	put_u64(&w, c->id);
	hmac_begin(&h, c->token, strlen(c->token));
	hmac_add(&h, who, strlen(who));
	hmac_add(&h, theirs, NONCE_BYTES);
	hmac_add(&h, ours, NONCE_BYTES);
	hmac_add(&h, id, sizeof(id));
	hmac_end(&h, proof);
}

/* The server asked who we are: g is its challenge, and then its welcome. */
static int authenticate(const struct fathom_fwd *c, struct link *link, struct greeting *g,
			const uint8_t nonce[NONCE_BYTES], int64_t due)
{
	struct reader r = {.at = g->body, .end = g->body + g->head.body};
	uint8_t frame[FWD_FRAME_HEADER + PROOF_BYTES + 2], proof[PROOF_BYTES], theirs[NONCE_BYTES];
	struct writer w = {.at = frame + FWD_FRAME_HEADER, .end = frame + sizeof(frame)};
	const uint8_t *hint;
	int error;

	if (!*c->token)
		return EACCES;
	get_failure(&r);
	hint = get_hint(&r, FWD_HINT_NONCE, NONCE_BYTES);
	if (!hint)
		return EPROTO;
	memcpy(theirs, hint, NONCE_BYTES);
	prove(c, "fathom-forward client", theirs, nonce, proof);
	put_bytes(&w, proof, PROOF_BYTES);
	put_hints(&w, NULL, 0);
	if ((error = say(c, link, FWD_OP_AUTH, frame, &w, due)) ||
	    (error = hear(c, link, FWD_OP_AUTH, g, due)) || g->head.status)
		return error;
	prove(c, "fathom-forward server", theirs, nonce, proof);
	r = (struct reader){.at = g->body, .end = g->body + g->head.body};
	get_session(&r);
	hint = get_hint(&r, FWD_HINT_PROOF, PROOF_BYTES);
	return hint && same_proof(hint, proof) ? 0 : EACCES; /* it does not know the token either */
}

static int welcomed(const struct greeting *g, struct server *server)
{
	struct reader r = {.at = g->body, .end = g->body + g->head.body}, hints;
	struct session s;
	const uint8_t *format;

	if (g->head.status)
		return frame_errno(g->head.status);
	s = get_session(&r);
	hints = r;
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
				  format && *format == FWD_COMPRESS_ZSTD};
	return 0;
}

static int greet(const struct fathom_fwd *c, struct link *link, struct server *server, int64_t due)
{
	static const uint8_t formats[] = {FWD_COMPRESS_ZSTD};
	const struct fathom_fwd_hint compress = {FWD_HINT_COMPRESS, sizeof(formats), formats};
	uint8_t frame[GREETING], nonce[NONCE_BYTES];
	struct writer w = {.at = frame + FWD_FRAME_HEADER, .end = frame + sizeof(frame)};
	struct greeting g;
	int error;

	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
		return EIO;
	put_hello(&w, c->key, nonce, c->name);
	put_hints(&w, &compress, c->compress);
	if ((error = say(c, link, FWD_OP_HELLO, frame, &w, due)) ||
	    (error = hear(c, link, FWD_OP_HELLO, &g, due)))
		return error;
	if (g.head.status == FWD_STATUS_AUTH && (error = authenticate(c, link, &g, nonce, due)))
		return error;
	return welcomed(&g, server);
}

int session_begin(const struct fathom_fwd *c, struct link *link, struct server *server, int64_t due,
		  bool *final)
{
	int error = link_open(link, c->address, due);

	if (!error) {
		link->fd = raise_fd(link->fd, c->lowest);
		error = greet(c, link, server, due);
		if (error)
			link->transport->close(link);
	}
	*final = error == EACCES || error == EPROTONOSUPPORT || error == EINVAL;
	return error;
}
