/* Who a process of another node is, as that node's munged says it. libmunge.so.2 is loaded when it is asked for. */
#ifndef FWD_MUNGE_H
#define FWD_MUNGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MUNGE_CREDENTIAL = 1024, /* bytes that one of ours may have, with its end */
	MUNGE_WHY = 200,
};

/* What is proved: `bytes` that both sides know, by `user` to itself. */
struct munge_statement {
	const char *socket; /* munged's; "": the usual one */
	const void *bytes;
	size_t length;
	uint32_t user;
};

/* A credential of this process that only `user` may read. False: `why` says why there is none. */
bool munge_seal(const struct munge_statement *what, char credential[MUNGE_CREDENTIAL],
		char why[MUNGE_WHY]);
/* Whether `user` made it, for just this statement, and nobody has shown it here before. */
bool munge_check(const struct munge_statement *what, const char *credential, char why[MUNGE_WHY]);

#endif
