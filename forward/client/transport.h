/* How bytes reach the server. A transport is a row of a table; tests add one that damages what passes. */
#ifndef FWD_TRANSPORT_H
#define FWD_TRANSPORT_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct transport;

struct link {
	const struct transport *transport;
	int fd; /* polled; readable when there may be bytes */
	void *state;
};

struct transport {
	const char *scheme; /* an address begins with it */
	/* Connects by `due` (ms of now_ms); 0 or an errno, which `why` (TRANSPORT_WHY) may explain. */
	int (*open)(struct link *link, const char *address, int64_t due, char *why);
	/* Neither waits: how many bytes went, or -errno (-EAGAIN: none now). */
	ssize_t (*send)(struct link *link, const struct iovec *part, int parts);
	ssize_t (*receive)(struct link *link, void *to, size_t room); /* 0: the end */
	/* What is to be polled for so that these events are seen. NULL: the same. */
	short (*events)(struct link *link, short events);
	void (*close)(struct link *link);
};

enum { TRANSPORTS = 4, TRANSPORT_WHY = 200 };
extern const struct transport *fwd_transports[TRANSPORTS]; /* NULL: free places */

/* By the address's scheme. EINVAL: none has it. */
int link_open(struct link *link, const char *address, int64_t due, char why[TRANSPORT_WHY]);
short link_events(struct link *link, short events);
int64_t now_ms(void);
/* The same file under a number from `lowest` on, closed under the old one; unchanged if there is no room. */
int raise_fd(int fd, uint32_t lowest);
/* Waits for poll events on one descriptor; ETIMEDOUT. */
int wait_fd(int fd, short events, int64_t due);

#endif
