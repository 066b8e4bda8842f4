/* fathom_fwd_plugin.h: operations of one's own in a forwarding server (docs/forwarding-api.md, "Plug-ins").
 *
 *	static int count(struct fathom_fwd_plugin_call *call)
 *	{
 *		...read call->file, put what was found into call->reply...
 *		return 0;
 *	}
 *
 *	static const struct fathom_fwd_plugin_operation operations[] = {{"count", count}};
 *	static const struct fathom_fwd_plugin plugin = {FATHOM_FWD_PLUGIN_VERSION, 1, operations};
 *
 *	FATHOM_FWD_PLUGIN_API const struct fathom_fwd_plugin *fathom_fwd_plugin(void)
 *	{
 *		return &plugin;
 *	}
 *
 * cc -shared -fPIC count.c -o count.so; fathom-engine forward DIR --unix PATH --plugin ./count.so
 *
 * A client calls it by name: fathom_fwd_call of fathom_fwd.h. A plug-in is a part of the server: it runs as the server's
 * user, and if it crashes, the server does. */
#ifndef FATHOM_FWD_PLUGIN_H
#define FATHOM_FWD_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FATHOM_FWD_PLUGIN_API __attribute__((visibility("default")))

/* Of this header. A server takes plug-ins of its own version only. */
#define FATHOM_FWD_PLUGIN_VERSION 1

/* One call of an operation. All of it is the server's, and there until the operation returns. */
struct fathom_fwd_plugin_call {
	const void *given; /* the client's bytes, aligned as malloc aligns */
	size_t given_length;
	void *reply; /* zeros; for `room` bytes of answer */
	size_t room;
	size_t length; /* out: bytes of the answer; from 0 */
	int directory; /* the exported directory: for openat2 with RESOLVE_BENEATH; never to be closed */
	int file; /* the file that the call is about, for reading, at no position: pread; -1: of none */
	uint64_t due;  /* when the client gives up: ns of CLOCK_MONOTONIC; then return ETIMEDOUT */
	char *message; /* out: for people, why it failed; ended by a zero byte */
	size_t message_room;
};

struct fathom_fwd_plugin_operation {
	/* What clients call it, and the trace: 1 to 63 letters, digits, `_`, `-`, `.`; none of the protocol's names. */
	const char *name;
	/* 0, or an errno. Called by several threads at once; it may block. */
	int (*call)(struct fathom_fwd_plugin_call *call);
};

struct fathom_fwd_plugin {
	uint32_t version; /* FATHOM_FWD_PLUGIN_VERSION */
	uint32_t count;
	const struct fathom_fwd_plugin_operation *operations;
};

/* Every plug-in has this function. It is called once, when the server starts; what it returns must stay. */
FATHOM_FWD_PLUGIN_API const struct fathom_fwd_plugin *fathom_fwd_plugin(void);

#ifdef __cplusplus
}
#endif

#endif
