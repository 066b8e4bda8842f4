/* libmunge by its functions: they, and the numbers below, are those of libmunge.so.2 (munge.h of MUNGE 0.5). */
#include "munge.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { OPTION_SOCKET = 8, OPTION_USER = 9 };

enum {
	DONE = 0,
	NO_MUNGED = 6,
	TIMED_OUT = 7,
	INVALID = 14,
	EXPIRED = 15,
	REWOUND = 16,
	UNAUTHORIZED = 18,
};

struct munge_ctx;

/* Written once, by load. */
static struct {
	pthread_once_t once;
	struct munge_ctx *(*create)(void);
	void (*destroy)(struct munge_ctx *ctx);
	int (*set)(struct munge_ctx *ctx, int option, ...);
	const char *(*ctx_text)(struct munge_ctx *ctx);
	const char *(*text)(int code);
	int (*encode)(char **credential, struct munge_ctx *ctx, const void *bytes, int length);
	int (*decode)(const char *credential, struct munge_ctx *ctx, void **bytes, int *length,
		      uid_t *user, gid_t *group);
} library = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
	void *munge = dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);

	if (!munge)
		return;
	library.create = dlsym(munge, "munge_ctx_create");
	library.destroy = dlsym(munge, "munge_ctx_destroy");
	library.set = dlsym(munge, "munge_ctx_set");
	library.ctx_text = dlsym(munge, "munge_ctx_strerror");
	library.text = dlsym(munge, "munge_strerror");
	library.encode = dlsym(munge, "munge_encode");
	library.decode = dlsym(munge, "munge_decode");
}

static bool is_loaded(void)
{
	pthread_once(&library.once, load);
	return library.create && library.destroy && library.set && library.ctx_text &&
	       library.text && library.encode && library.decode;
}

static const char *advice(int code)
{
	switch (code) {
	case NO_MUNGED:
	case TIMED_OUT:
		return "; does munged run on this node?";
	case INVALID:
		return "; do both nodes have the same munge.key?";
	case EXPIRED:
	case REWOUND:
		return "; do the clocks of both nodes agree?";
	case UNAUTHORIZED:
		return "; it is for another user";
	default:
		return "";
	}
}

static bool refuse(struct munge_ctx *ctx, int code, char why[MUNGE_WHY])
{
	const char *detail = ctx ? library.ctx_text(ctx) : NULL;

	snprintf(why, MUNGE_WHY, "munge: %.120s%s", detail ? detail : library.text(code),
		 advice(code));
	return false;
}

/* A context with munged's socket and, where it is asked for, the one user who may read; NULL: why not. */
static struct munge_ctx *begin(const struct munge_statement *what, bool restricted,
			       char why[MUNGE_WHY])
{
	struct munge_ctx *ctx;
	int code = DONE;

	if (!is_loaded()) {
		snprintf(why, MUNGE_WHY, "munge: libmunge.so.2 is not installed");
		return NULL;
	}
	ctx = library.create();
	if (!ctx) {
		snprintf(why, MUNGE_WHY, "munge: out of memory");
		return NULL;
	}
	if (*what->socket)
		code = library.set(ctx, OPTION_SOCKET, what->socket);
	if (code == DONE && restricted)
		code = library.set(ctx, OPTION_USER, (uid_t)what->user);
	if (code == DONE)
		return ctx;
	refuse(ctx, code, why);
	library.destroy(ctx);
	return NULL;
}

bool munge_seal(const struct munge_statement *what, char credential[MUNGE_CREDENTIAL],
		char why[MUNGE_WHY])
{
	struct munge_ctx *ctx = begin(what, true, why);
	char *encoded = NULL;
	bool fine;
	int code;

	if (!ctx)
		return false;
	code = library.encode(&encoded, ctx, what->bytes, (int)what->length);
	fine = code == DONE || refuse(ctx, code, why);
	if (fine && strlen(encoded) >= MUNGE_CREDENTIAL) {
		snprintf(why, MUNGE_WHY, "munge: a credential longer than any of ours");
		fine = false;
	}
	if (fine)
		strcpy(credential, encoded);
	free(encoded);
	library.destroy(ctx);
	return fine;
}

bool munge_check(const struct munge_statement *what, const char *credential, char why[MUNGE_WHY])
{
	struct munge_ctx *ctx = begin(what, false, why);
	void *bytes = NULL;
	int length = 0, code;
	uid_t user;
	gid_t group;
	bool fine;

	if (!ctx)
		return false;
	code = library.decode(credential, ctx, &bytes, &length, &user, &group);
	fine = code == DONE || refuse(ctx, code, why);
	if (fine && user != what->user) {
		snprintf(why, MUNGE_WHY, "munge: a credential of user %u, not of user %u",
			 (unsigned)user, (unsigned)what->user);
		fine = false;
	}
	if (fine && ((size_t)length != what->length || memcmp(bytes, what->bytes, what->length))) {
		snprintf(why, MUNGE_WHY, "munge: a credential for another connection");
		fine = false;
	}
	free(bytes); /* munge gives it for some errors, too */
	library.destroy(ctx);
	return fine;
}
