/* POSIX: the arrays one after another, one pwrite or pread for each contiguous row of a piece. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

struct transfer {
	int fd;
	const char *path;
	const struct layout *l;
	const struct array *a;
	const struct piece *p;
	char *at; /* next byte of the buffer */
	bool reading;
};

static void row(struct transfer *t, uint64_t element)
{
	uint64_t bytes = t->p->count[t->a->rank - 1] * element_size(t->a->type);
	uint64_t offset = array_offset(t->l, t->p->array) + element * element_size(t->a->type);

	account_bytes("posix", t->reading, t->path, offset, bytes, bytes);
	ssize_t done = t->reading ? pread(t->fd, t->at, bytes, (off_t)offset)
				  : pwrite(t->fd, t->at, bytes, (off_t)offset);
	if (done < 0 || (uint64_t)done != bytes)
		fail(t->reading ? "pread" : "pwrite", t->path,
		     done < 0 ? strerror(errno) : "moved fewer bytes than asked");
	t->at += bytes;
}

static void rows(struct transfer *t, unsigned d, uint64_t line)
{
	uint64_t index = line * array_extent(t->l, t->a, d) + t->p->start[d];

	if (d + 1 == t->a->rank)
		row(t, index);
	else
		for (uint64_t i = 0; i < t->p->count[d]; i++)
			rows(t, d + 1, index + i);
}

static void open_and_move(const char *path, const struct layout *l, const struct pieces *p,
			  bool reading)
{
	struct transfer t = {.path = path, .l = l, .reading = reading};

	t.fd = open(path, reading ? O_RDONLY : O_WRONLY | O_CREAT, 0644);
	if (t.fd < 0)
		fail("open", path, strerror(errno));
	for (unsigned i = 0; i < p->n; i++) {
		t.p = &p->piece[i];
		t.a = &l->array[t.p->array];
		t.at = t.p->buffer;
		if (t.p->memory.rank)
			fail("posix", t.a->name, "the piece is not packed");
		rows(&t, 0, 0);
	}
	if (close(t.fd))
		fail("close", path, strerror(errno));
}

static void write_file(const struct job *job, const char *path, const struct layout *l,
		       const struct pieces *p)
{
	(void)job;
	open_and_move(path, l, p, false);
}

static void read_file(const struct job *job, const char *path, const struct layout *l,
		      const struct pieces *p)
{
	(void)job;
	open_and_move(path, l, p, true);
}

const struct form form_posix = {"bin", false, write_file, read_file};
