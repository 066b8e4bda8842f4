/* Connections over libfabric's connected endpoints (FI_EP_MSG). libfabric.so.1 is loaded when one is asked for.
 *
 * A connection is a stream of bytes: messages of at most the peer's room, each behind how many more the sender takes
 * (docs/forwarding-protocol.md, "Over libfabric"). One thread at a time may use it. */
#ifndef FWD_OFI_H
#define FWD_OFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
	OFI_WHY = 200,
	OFI_ADDRESS = 300,
};

struct ofi;
struct ofi_listener;

/* `where` is an address behind its `ofi`: `:HOST:PORT` or `+PROVIDER:HOST:PORT`. 0 or an errno, and `why` in words.
 * Waits until `due`, ms of CLOCK_MONOTONIC. */
int ofi_connect(struct ofi **connection, const char *where, int64_t due, char why[OFI_WHY]);
/* A descriptor, the caller's, that is readable when one of the calls below may go on: the first that was asked for by
 * ofi_watch; to begin with, ofi_receive. */
int ofi_descriptor(struct ofi *o);
void ofi_watch(struct ofi *o, bool receive, bool send);
/* How many bytes went or came; 0 of ofi_receive: the end; -EAGAIN: none now; or another -errno. */
ssize_t ofi_send(struct ofi *o, const struct iovec *part, int parts);
ssize_t ofi_receive(struct ofi *o, void *to, size_t room);
/* In a child of fork it lets go of the parent's connection, which goes on. */
void ofi_close(struct ofi *o);

/* `address` is where it listens, as a client says it. */
int ofi_listen(struct ofi_listener **listener, const char *where, char address[OFI_ADDRESS],
	       char why[OFI_WHY]);
/* Readable when ofi_accept may have one. */
int ofi_listener_descriptor(const struct ofi_listener *l);
/* 0; EAGAIN: none now; another errno: one came to nothing. */
int ofi_accept(struct ofi_listener *l, struct ofi **connection);
void ofi_listener_close(struct ofi_listener *l);

#endif
