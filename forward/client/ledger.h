/* What the server has accepted and not yet told to be written. A server that starts again has lost it. */
#ifndef FWD_LEDGER_H
#define FWD_LEDGER_H

#include <stdbool.h>

#include "fathom_fwd.h"

struct ledger {
	struct fathom_fwd_failed
		*line; /* a file's accepted writes, as one range; code once it is lost */
	uint32_t n, room;
};

/* ENOMEM: not noted. */
int ledger_accepted(struct ledger *l, const struct fathom_fwd_failed *range);
void ledger_server_restarted(struct ledger *l);
/* The next line of the file (NULL: of any) that was lost is taken out. */
bool ledger_take_lost(struct ledger *l, const struct fathom_fwd_handle *handle,
		      struct fathom_fwd_failed *range);
/* The file's writes (NULL: all) have been told of. */
void ledger_committed(struct ledger *l, const struct fathom_fwd_handle *handle);
void ledger_free(struct ledger *l);

#endif
