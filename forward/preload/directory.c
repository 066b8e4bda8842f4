/* Directories as streams: DIR. Ours begin with a word that libc's, which begin with a descriptor, cannot have. */
#include <dirent.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "skin.h"

static const uint64_t mark = 0xfa7408d1fa7408d1;

enum { ROOM = 65536 };

struct directory {
	uint64_t mark;
	int fd;
	uint64_t next;     /* where the server goes on */
	uint64_t position; /* where the entry behind the last one that was given begins */
	size_t have, at;   /* bytes of entries */
	bool ended;
	_Alignas(struct dirent64) char entries[ROOM];
};

bool directory_is_ours(const void *dir)
{
	return dir && ((const struct directory *)dir)->mark == mark;
}

/* -1: full, the entry is asked for again. */
static int keep(void *with, const struct fathom_fwd_entry *entry)
{
	struct directory *d = with;
	size_t name = strlen(entry->name) + 1, bytes = offsetof(struct dirent64, d_name) + name;
	struct dirent64 *to = (struct dirent64 *)(void *)(d->entries + d->have);

	bytes = (bytes + 7) & ~(size_t)7;
	if (d->have + sizeof(struct dirent64) > ROOM)
		return -1;
	to->d_ino = entry->ino;
	to->d_off = (int64_t)entry->cookie;
	to->d_reclen = (uint16_t)bytes;
	to->d_type = entry->type;
	memcpy(to->d_name, entry->name, name);
	d->have += bytes;
	d->next = entry->cookie;
	return 0;
}

static int fill(struct directory *d)
{
	struct file *f = file_get(d->fd);
	struct asking a;
	int error;

	if (!f) {
		errno = EBADF;
		return -1;
	}
	d->have = d->at = 0;
	error = file_asking(&a, f);
	if (!error)
		error = fathom_fwd_readdir(a.client, &f->shared->handle, d->next, keep, d,
					   &a.hints);
	d->ended = error != -1;
	file_put(f);
	return asking_end(&a, error == -1 ? 0 : error);
}

DIR *forward_fdopendir(int fd)
{
	struct file *f = file_get(fd);
	struct directory *d;
	bool is_directory = f && S_ISDIR(f->shared->mode);

	if (f)
		file_put(f);
	if (!is_directory) {
		errno = f ? ENOTDIR : EBADF;
		return NULL;
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->mark = mark;
	d->fd = fd;
	return (DIR *)d;
}

DIR *forward_opendir(const struct place *at)
{
	int fd = forward_open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), error;
	DIR *dir = fd < 0 ? NULL : forward_fdopendir(fd);

	if (fd >= 0 && !dir) {
		error = errno;
		forward_close(fd);
		errno = error;
	}
	return dir;
}

int forward_closedir(DIR *dir)
{
	struct directory *d = (struct directory *)(void *)dir;
	int fd = d->fd;

	d->mark = 0;
	free(d);
	return forward_close(fd);
}

struct dirent64 *forward_readdir64(DIR *dir)
{
	struct directory *d = (struct directory *)(void *)dir;
	struct dirent64 *entry;

	if (d->at == d->have && !d->ended && fill(d))
		return NULL;
	if (d->at == d->have)
		return NULL;
	entry = (struct dirent64 *)(void *)(d->entries + d->at);
	d->at += entry->d_reclen;
	d->position = (uint64_t)entry->d_off;
	return entry;
}

/* The same bytes, where offsets have 64 bits. */
struct dirent *forward_readdir(DIR *dir)
{
	return (struct dirent *)forward_readdir64(dir);
}

void forward_seekdir(DIR *dir, long place)
{
	struct directory *d = (struct directory *)(void *)dir;

	d->next = d->position = (uint64_t)place;
	d->have = d->at = 0;
	d->ended = false;
}

void forward_rewinddir(DIR *dir)
{
	forward_seekdir(dir, 0);
}

long forward_telldir(DIR *dir)
{
	return (long)((const struct directory *)(const void *)dir)->position;
}

int forward_dirfd(DIR *dir)
{
	return ((const struct directory *)(const void *)dir)->fd;
}
