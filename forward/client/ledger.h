/* What the server has accepted and not yet told to be written. A server that starts again has lost it. */
#ifndef FWD_LEDGER_H
#define FWD_LEDGER_H

#include <stdbool.h>

#include "fathom_fwd.h"

enum { FAILED_FILES = 256 };

/* The last error of a file. */
struct file_error {
	struct fathom_fwd_handle handle;
	uint64_t number; /* 0: none */
	int code;
};

struct ledger {
	struct fathom_fwd_failed
		*line; /* a file's accepted writes, as one range; code once it is lost */
	uint32_t n, room;
	uint64_t errors;           /* so many so far */
	struct file_error *failed; /* FAILED_FILES, or NULL: there was none */
	struct file_error dropped; /* the last of those for which there is no room: of any file */
};

/* ENOMEM: not noted. */
int ledger_accepted(struct ledger *l, const struct fathom_fwd_failed *range);
void ledger_server_restarted(struct ledger *l);
/* The next line of the file (NULL: of any) that was lost is taken out. */
bool ledger_take_lost(struct ledger *l, const struct fathom_fwd_handle *handle,
		      struct fathom_fwd_failed *range);
/* The file's writes (NULL: all) have been told of. */
void ledger_committed(struct ledger *l, const struct fathom_fwd_handle *handle);
/* A write of the file failed. */
void ledger_failed(struct ledger *l, const struct fathom_fwd_handle *handle, int code);
/* The file's last error that came after `mark`, which then is now; 0: none. */
int ledger_error_since(const struct ledger *l, const struct fathom_fwd_handle *handle,
		       uint64_t *mark);
/* Nothing is known of any file; marks stay what they are. */
void ledger_free(struct ledger *l);

#endif
