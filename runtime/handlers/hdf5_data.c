/* HDF5's transfers: how much, which elements, and whether it was collective, of datasets, several datasets,
 * chunks and attributes. Asked after the call, for the reason that hdf5_file.c gives. */
#include <stdio.h>

#include "handlers/hdf5.h"
#include "handlers/library.h"

enum { DATASETS_NAMED = 64 /* of a call on several datasets */ };

/* Elements that a transfer moves: what one of its dataspaces selects, else the whole extent. */
static int64_t elements(const struct hdf5_library *lib, int64_t dataset, int64_t memory_space,
			int64_t file_space)
{
	int64_t space, n;

	if (file_space > HDF5_LAST_WORD)
		return lib->selected(file_space);
	if (memory_space > HDF5_LAST_WORD)
		return lib->selected(memory_space);
	space = hdf5_id(lib, lib->dataset_space(dataset));
	if (space < 0)
		return -1;
	n = lib->extent(space);
	lib->space_close(space);
	return n;
}

static int64_t bytes_of_members(const struct hdf5_library *lib, int64_t type, int count)
{
	int64_t bytes = 0;

	for (int i = 0; i < count; i++) {
		const int64_t member = hdf5_id(lib, lib->member_type(type, (unsigned)i));

		bytes += (int64_t)lib->type_size(member);
		lib->type_close(member);
	}
	return bytes;
}

/* Bytes of an element as the program's type has it. Of compounds of which one has fewer members it is these. */
static int64_t element_bytes(const struct hdf5_library *lib, int64_t dataset, int64_t type)
{
	int64_t bytes = (int64_t)lib->type_size(type), of_file;
	int count, count_of_file;

	if (!lib->members || !lib->member_type || !hdf5_is_compound(lib, type))
		return bytes;
	of_file = hdf5_id(lib, lib->dataset_type(dataset));
	if (of_file < 0)
		return bytes;
	count = lib->members(type);
	count_of_file = hdf5_is_compound(lib, of_file) ? lib->members(of_file) : count;
	if (count < count_of_file)
		bytes = bytes_of_members(lib, type, count);
	else if (count > count_of_file)
		bytes = bytes_of_members(lib, of_file, count_of_file);
	lib->type_close(of_file);
	return bytes;
}

/* What one dataset moved: its elements, as large as the program's type has them; -1: not known. */
struct part {
	struct hdf5_selection selection;
	int64_t bytes;
	bool scattered; /* its memory has holes */
};

/* Without a dataspace of its own, memory is laid out as the file is, and selected alike. */
static bool scattered(const struct hdf5_library *lib, int64_t memory_space, int64_t file_space)
{
	const int64_t space = memory_space > HDF5_LAST_WORD ? memory_space : file_space;

	return space > HDF5_LAST_WORD && hdf5_scattered(lib, space);
}

static struct part part_of(struct call *c, const struct hdf5_library *lib, int64_t dataset,
			   int64_t memory_type, int64_t memory_space, int64_t file_space)
{
	struct part part = {{0, 0, -1}, -1, false};
	int64_t bytes;

	file_space = hdf5_id(lib, file_space);
	memory_space = hdf5_id(lib, memory_space);
	part.scattered = !call_for_job(c) && scattered(lib, memory_space, file_space);
	if (file_space > HDF5_LAST_WORD && !call_for_job(c))
		part.selection = hdf5_selected(c, lib, file_space);
	else
		part.selection.total =
			elements(lib, hdf5_id(lib, dataset), memory_space, file_space);
	if (part.selection.total >= 0 &&
	    !__builtin_mul_overflow(
		    part.selection.total,
		    element_bytes(lib, hdf5_id(lib, dataset), hdf5_id(lib, memory_type)), &bytes))
		part.bytes = bytes;
	return part;
}

/* ---- collective or not ---- */

/* Did the transfer ask for collective I/O? -1: this HDF5 or this file knows no such thing. */
static int64_t collective_mode(const struct hdf5_library *lib, uint64_t value, int64_t transfer)
{
	int mode = 0;

	if (!hdf5_parallel(value) || !lib->transfer_mode)
		return -1;
	if (transfer > 0 && lib->transfer_mode(transfer, &mode) < 0)
		return -1;
	return mode == 1;
}

/* Fields `collective_io`, `collective`, `actual_io`, `no_collective` from c->field[at] on. What was asked for
 * but did not come about is asked of the list that the program gave: a default one asks for nothing. */
static void tell_mode(struct call *c, const struct hdf5_library *lib, uint64_t value,
		      int64_t transfer, unsigned at)
{
	const int64_t list = hdf5_id(lib, transfer);
	int64_t *const field = &c->field[at];
	uint32_t own = 0, all = 0;
	int mode = 0;

	field[0] = collective_mode(lib, value, list);
	field[1] = field[0] == 1 ? hdf5_take_turn(value) : 0;
	field[2] = field[3] = -1;
	if (field[0] != 1)
		return;
	if (lib->actual_mode && lib->actual_mode(list, &mode) >= 0)
		field[2] = mode;
	if (lib->no_collective && lib->no_collective(list, &own, &all) >= 0)
		field[3] = (int64_t)(all & UINT16_MAX) | (int64_t)own << 16;
}

/* ---- datasets ---- */

/* Fields: size, bytes, selection, start, collective_io, collective, actual_io, no_collective. */
void hdf5_data(struct call *c, int64_t result, int64_t dataset, int64_t memory_type,
	       int64_t memory_space, int64_t file_space, int64_t transfer)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	struct part part;

	c->field[0] = c->field[1] = c->field[4] = c->field[6] = c->field[7] = -1;
	if (result < 0 || !lib)
		return;
	dataset = hdf5_id(lib, dataset);
	hdf5_dataset_met(c, lib, dataset);
	part = part_of(c, lib, dataset, memory_type, memory_space, file_space);
	c->field[0] = c->field[1] = part.bytes;
	c->field[2] = part.selection.number;
	c->field[3] = part.selection.start;
	if (part.scattered)
		call_scattered(c);
	tell_mode(c, lib, hdf5_value(c->wrapper, dataset), transfer, 4);
}

static void name_part(struct call *c, const struct hdf5_library *lib, int64_t dataset,
		      const struct part *part)
{
	char text[1024], name[512] = "";

	if (!(hdf5_value(c->wrapper, dataset) & HDF5_NAMELESS))
		lib->name_of(hdf5_id(lib, dataset), name, sizeof(name));
	snprintf(text, sizeof(text), "%lld bytes, selection %u, start %lld, of %s",
		 (long long)part->bytes, part->selection.number, (long long)part->selection.start,
		 name);
	call_text(c, "dataset", text);
}

/* Several datasets of one file: the call is the file's. Fields: size, bytes, datasets, collective_io, collective,
 * actual_io, no_collective; each dataset is a text. */
void hdf5_data_of_several(struct call *c, int64_t result, size_t count, const int64_t *dataset,
			  const int64_t *memory_type, const int64_t *memory_space,
			  const int64_t *file_space, int64_t transfer)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	int64_t bytes = 0;
	bool any_scattered = false;

	c->field[0] = c->field[1] = c->field[3] = c->field[5] = c->field[6] = -1;
	if (result < 0 || !lib || !count)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct part part =
			part_of(c, lib, dataset[i], memory_type[i], memory_space[i], file_space[i]);

		bytes = bytes < 0 || part.bytes < 0 ? -1 : bytes + part.bytes;
		any_scattered |= part.scattered;
		if (i < DATASETS_NAMED)
			name_part(c, lib, dataset[i], &part);
	}
	if (count > DATASETS_NAMED)
		call_text(c, "dataset", "and more");
	c->field[0] = c->field[1] = bytes;
	if (any_scattered)
		call_scattered(c);
	tell_mode(c, lib, hdf5_value(c->wrapper, dataset[0]), transfer, 3);
}

/* ---- chunks, as they are stored ---- */

/* Row-major index of a chunk's first element; -1: not known. */
int64_t hdf5_chunk_start(const struct call *c, int64_t dataset, const uint64_t *offset)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	uint64_t extent[HDF5_RANK], index = 0;
	int64_t space;
	int rank;

	if (c->error || !lib || !offset)
		return -1;
	space = hdf5_id(lib, lib->dataset_space(hdf5_id(lib, dataset)));
	if (space < 0)
		return -1;
	rank = lib->dimensions(space, extent, NULL);
	lib->space_close(space);
	for (int d = 0; d < rank; d++)
		index = index * extent[d] + offset[d];
	return (int64_t)index;
}

/* Stored bytes of a chunk that was just read; its place in the index is cached by that. */
int64_t hdf5_chunk_bytes(const struct call *c, int64_t dataset, const uint64_t *offset)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	uint64_t bytes = 0;

	if (c->error || !lib || !lib->chunk_bytes || !offset ||
	    lib->chunk_bytes(hdf5_id(lib, dataset), offset, &bytes) < 0)
		return -1;
	return (int64_t)bytes;
}

/* ---- attributes ---- */

/* Fields: size, bytes. */
void hdf5_attribute_data(struct call *c, int64_t result, int64_t attribute, int64_t memory_type)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	int64_t space, bytes;

	c->field[0] = c->field[1] = -1;
	if (result < 0 || !lib || !lib->attribute_space)
		return;
	space = hdf5_id(lib, lib->attribute_space(hdf5_id(lib, attribute)));
	if (space < 0)
		return;
	if (!__builtin_mul_overflow(lib->extent(space),
				    (int64_t)lib->type_size(hdf5_id(lib, memory_type)), &bytes))
		c->field[0] = c->field[1] = bytes;
	lib->space_close(space);
}
