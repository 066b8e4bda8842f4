/* What ofi.c and ofi_fabric.c share: a connection's objects and buffers. */
#ifndef FWD_OFI_LINK_H
#define FWD_OFI_LINK_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include "ofi.h"

enum {
	OFI_MESSAGE = 65536, /* bytes of a message that we take, its head with it */
	OFI_HEAD = 4,        /* u16 messages that the sender takes more, u16 0 */
	OFI_WINDOW = 8,      /* messages with data that we take before we say so */
	OFI_BARE = 2,        /* messages with a head only that may be under way besides */
	OFI_MESSAGES = OFI_WINDOW + OFI_BARE,
	OFI_GREETING = 12, /* bytes of what both sides say as they connect */
};

struct ofi_message {
	struct fi_context2 context; /* the provider's, first */
	struct ofi_message *next;
	bool sent;
	uint32_t length, taken; /* of what came; bytes of it that were received */
	uint8_t *bytes;
};

/* Messages, the first to be used next. */
struct ofi_queue {
	struct ofi_message *first, *last;
};

struct ofi {
	pid_t whose;
	struct fid_fabric *fabric; /* NULL: it is the listener's, as is the domain */
	struct fid_domain *domain;
	struct fid_fabric *waits_in; /* the fabric of both cases */
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr; /* NULL: the provider asks for none */
	int set;           /* epoll of both queues and of `ready` */
	int socket;        /* below the endpoint, the provider's; -1: none that is known */
	int ready;         /* eventfd */
	bool rung;
	bool wants_receive, wants_send;
	bool connected;
	bool ended; /* by the peer */
	int error;  /* errno; what came before it is received first */
	uint8_t *memory;
	struct ofi_message in[OFI_MESSAGES], out[OFI_MESSAGES];
	struct ofi_queue unposted, arrived, free;
	uint32_t credits; /* messages with data that the peer takes */
	uint32_t owed;    /* that we take and it was not told of */
	uint32_t room;    /* bytes of a message that it takes */
};

/* An errno of one of libfabric's. */
int ofi_errno(ssize_t code);
/* The socket below an endpoint of provider tcp: closed by exec from now on, and a peer whose node vanished is noticed. */
int ofi_own_socket(struct ofi *o);
/* What we say as we connect, and what the peer said; false: it is none of ours. */
void ofi_greet(uint8_t greeting[OFI_GREETING]);
bool ofi_greeted(struct ofi *o, const uint8_t *greeting, size_t length);
/* Buffers, queues and the endpoint of a connection: all but its connecting. */
int ofi_make(struct ofi *o, struct fid_domain *domain, struct fi_info *info);
/* What happened since: queues read until there is nothing, so that what comes next makes the descriptor readable. */
void ofi_progress(struct ofi *o);

#endif
