/* Statements of Fortran: which file a unit is connected to; WRITE and READ from their first call to their last. */
#include "handlers/fortran.h"

#include <fcntl.h>
#include <string.h>

#include "core/base.h"
#include "core/layers.h"
#include "core/spans.h"
#include "core/text.h"
#include "ops.h"

/* Flags of libgfortran's parameter blocks (its io.h). */
enum {
	ENDED_HOW = 3, /* of all: 1 is an error, 2 and 3 the end of file and record */
	ENDED_BY_ERROR = 1,
	LIST_DIRECTED = 1 << 7, /* of WRITE and READ */
	HAS_FORMAT = 1 << 12,
	ON_VARIABLE = 1 << 14,
	HAS_NAMELIST = 1 << 15,
	HAS_FILE = 1 << 8, /* of OPEN */
	HAS_STATUS = 1 << 9,
};

enum { UNITS_OF_LIBC = 3 };

/* How the block of OPEN goes on. Texts end with blanks, not with a zero. */
struct open_statement {
	struct fortran_statement common;
	int32_t record_length;
	size_t file_length;
	const char *file;
	const char *status;
	size_t status_length;
};

/* Unit to object of its file. Those that are connected from the beginning: 0, 5 and 6, to descriptors 2, 0 and 1. */
uint32_t fortran_object(const struct fortran_statement *said)
{
	static const int32_t connected[UNITS_OF_LIBC] = {5, 6, 0};
	const uint32_t object = (uint32_t)handle_get(&fortran_units, 0, (uint32_t)said->unit);

	for (int fd = 0; !object && fd < UNITS_OF_LIBC; fd++)
		if (connected[fd] == said->unit)
			return descriptor_object(fd);
	return object;
}

static bool is_failed(const struct fortran_statement *said)
{
	return (said->flags & ENDED_HOW) == ENDED_BY_ERROR;
}

void fortran_failed(struct call *c, const struct fortran_statement *said)
{
	if (is_failed(said))
		c->error = 1;
}

/* ---- units ---- */

/* A file for the time of the program has a name that nobody knows. */
static bool is_scratch(const struct open_statement *o)
{
	return o->common.flags & HAS_STATUS && o->status_length &&
	       (o->status[0] == 's' || o->status[0] == 'S');
}

static uint32_t object_opened(const struct open_statement *o)
{
	char name[PATH_BYTES];
	size_t length = o->file_length;

	if (!(o->common.flags & HAS_FILE)) {
		if (is_scratch(o) || o->common.unit < 0)
			return 0;
		memcpy(name, "fort.", 5);
		text_decimal(name + 5, (uint32_t)o->common.unit);
		return path_object(AT_FDCWD, name);
	}
	while (length && o->file[length - 1] == ' ')
		length--;
	if (length >= sizeof(name))
		return 0;
	memcpy(name, o->file, length);
	name[length] = '\0';
	return path_object(AT_FDCWD, name);
}

/* Only now a NEWUNIT has its number. */
void fortran_opened(struct call *c, const struct fortran_statement *said)
{
	fortran_failed(c, said);
	if (is_failed(said))
		return;
	c->object = object_opened((const struct open_statement *)said);
	handle_put(&fortran_units, 0, (uint32_t)said->unit, c->object);
}

void fortran_closed(struct call *c, const struct fortran_statement *said)
{
	fortran_failed(c, said);
	if (!is_failed(said))
		handle_take(&fortran_units, 0, (uint32_t)said->unit);
}

/* ---- WRITE and READ ---- */

void fortran_begin(bool writes, const struct fortran_statement *said, const void *frame,
		   const void *site)
{
	static const uint32_t ops_of[2][2] = {
		{OP_FORTRAN_READ_UNFORMATTED, OP_FORTRAN_READ_FORMATTED},
		{OP_FORTRAN_WRITE_UNFORMATTED, OP_FORTRAN_WRITE_FORMATTED},
	};
	const bool text = said->flags & (LIST_DIRECTED | HAS_FORMAT | HAS_NAMELIST);
	struct call *c;

	if (said->flags & ON_VARIABLE || !layer_on(LAYER_FORTRAN))
		return;
	c = span_find(LAYER_FORTRAN, (uintptr_t)said);
	if (c) /* an exception left it: a block is on its procedure's stack */
		span_end(c, ticks_now());
	c = span_begin(ops_of[writes][text], fortran_object(said), (uintptr_t)said, frame, site);
	if (c)
		c->field[0] = said->unit;
}

void fortran_ends(const struct fortran_statement *said)
{
	const uint64_t ended = ticks_now();
	struct call *c = span_find(LAYER_FORTRAN, (uintptr_t)said);

	if (!c)
		return;
	fortran_failed(c, said);
	span_end(c, ended);
}
