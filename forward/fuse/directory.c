/* Directories are listed as the server tells them, a batch at a time; a place in one is the server's cookie. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mount.h"

enum { BATCH = 1024 /* entries asked for at once, as the client does */ };

struct listed {
	uint64_t next; /* cookie of the entry behind it */
	uint64_t ino;
	mode_t type;
	char name[NAME_MAX + 1];
};

/* One open directory; the kernel reads it by one thread at a time. */
struct listing {
	uint64_t from; /* cookie of the first entry here */
	uint32_t n;
	bool read, ended; /* anything; nothing is behind these entries */
	struct listed entry[BATCH];
};

static struct listing *listing_of(const struct fuse_file_info *fi)
{
	return (struct listing *)(uintptr_t)fi->fh;
}

void do_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct listing *l = calloc(1, sizeof(*l));

	(void)ino;
	if (!l) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	fi->fh = (uintptr_t)l;
	if (fuse_reply_open(req, fi) == -ENOENT)
		free(l);
}

void do_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	free(listing_of(fi));
	fuse_reply_err(req, 0);
}

static int add_entry(void *with, const struct fathom_fwd_entry *dirent)
{
	struct listing *l = with;
	struct listed *entry = &l->entry[l->n++];

	entry->next = dirent->cookie;
	entry->ino = dirent->ino;
	entry->type = DTTOIF(dirent->type);
	memcpy(entry->name, dirent->name, strlen(dirent->name) + 1);
	return l->n == BATCH ? ECANCELED : 0;
}

static int fetch(struct ask *a, struct listing *l, uint64_t from)
{
	int error;

	l->n = 0;
	error = fathom_fwd_readdir(mount_point.client, node_handle(a->node), from, add_entry, l,
				   &a->hints);
	l->from = from;
	l->ended = !error;
	l->read = !error || error == ECANCELED;
	return l->read ? 0 : error;
}

/* Number of the entry at that cookie; l->n: none of these. */
static uint32_t entry_at(const struct listing *l, uint64_t cookie)
{
	uint32_t i = 0;

	if (!l->read || l->from == cookie)
		return l->read ? 0 : l->n;
	while (i < l->n && l->entry[i].next != cookie)
		i++;
	return i < l->n ? i + 1 : l->n;
}

/* Entries from number `i` on, as many as fit; bytes. */
static size_t put(fuse_req_t req, const struct listing *l, uint32_t i, char *buffer, size_t size)
{
	size_t used = 0;

	for (; i < l->n; i++) {
		const struct listed *entry = &l->entry[i];
		struct stat about = {.st_ino = entry->ino, .st_mode = entry->type};
		size_t more = fuse_add_direntry(req, buffer + used, size - used, entry->name,
						&about, (off_t)entry->next);

		if (more > size - used)
			break;
		used += more;
	}
	return used;
}

static bool is_end(const struct listing *l, uint64_t cookie)
{
	return l->read && l->ended &&
	       (l->n ? l->entry[l->n - 1].next == cookie : l->from == cookie);
}

/* The start is always asked for anew: rewinddir sees what there is now. */
void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t from, struct fuse_file_info *fi)
{
	struct listing *l = listing_of(fi);
	char *buffer = malloc(size);
	uint32_t i = from ? entry_at(l, (uint64_t)from) : l->n;
	struct ask a;
	int error = buffer ? 0 : ENOMEM;

	if (!error && i == l->n && (!from || !is_end(l, (uint64_t)from))) {
		ask_begin(&a, ino);
		error = ask_end(&a, fetch(&a, l, (uint64_t)from));
		i = 0;
	}
	if (error)
		fuse_reply_err(req, error);
	else
		fuse_reply_buf(req, buffer, put(req, l, i, buffer, size));
	free(buffer);
}
