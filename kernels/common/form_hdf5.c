/* Parallel HDF5: per array one dataset created, written by hyperslabs, closed. */
#include "hdf5_layout.h"
#include "run.h"

#include <stdio.h>

static hid_t access_list(const struct job *job, const struct layout *l)
{
	hid_t list = hdf5_check(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate", "file access");

	hdf5_check(H5Pset_fapl_mpio(list, job->communicator, job->info), "H5Pset_fapl_mpio",
		   l->name);
	if (l->align)
		hdf5_check(H5Pset_alignment(list, l->align, l->align), "H5Pset_alignment", l->name);
	return list;
}

static hid_t transfer_list(const struct job *job)
{
	hid_t list = hdf5_check(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate", "transfer");

	hdf5_check(H5Pset_dxpl_mpio(list, job->independent ? H5FD_MPIO_INDEPENDENT
							   : H5FD_MPIO_COLLECTIVE),
		   "H5Pset_dxpl_mpio", "transfer");
	return list;
}

/* A box of a space of `rank` dimensions; nothing when the box is empty. */
static hid_t box_space(unsigned rank, const uint64_t *extent, const uint64_t *start,
		       const uint64_t *count, const char *name)
{
	hsize_t e[LAYOUT_RANK + 1] = {1}, s[LAYOUT_RANK + 1], c[LAYOUT_RANK + 1], n = 1;

	for (unsigned d = 0; d < rank; d++) {
		e[d] = extent[d];
		s[d] = start[d];
		c[d] = count[d];
		n *= c[d];
	}
	hid_t space = hdf5_check(H5Screate_simple((int)rank, e, NULL), "H5Screate_simple", name);
	hdf5_check(n ? H5Sselect_hyperslab(space, H5S_SELECT_SET, s, NULL, c, NULL)
		     : H5Sselect_none(space),
		   "H5Sselect", name);
	return space;
}

static hid_t file_space(const struct layout *l, const struct piece *p)
{
	const struct array *a = &l->array[p->array];
	uint64_t extent[LAYOUT_RANK];

	for (unsigned d = 0; d < a->rank; d++)
		extent[d] = array_extent(l, a, d);
	return box_space(a->rank, extent, p->start, p->count, a->name);
}

static hid_t memory_space(const struct layout *l, const struct piece *p)
{
	uint64_t none = 0, n = piece_elements(l, p);

	if (p->memory.rank)
		return box_space(p->memory.rank, p->memory.extent, p->memory.start, p->memory.count,
				 "memory");
	return box_space(1, &n, &none, &n, "memory");
}

static void move(hid_t set, hid_t transfer, const char *path, const struct layout *l,
		 const struct piece *p, bool reading)
{
	const struct array *a = &l->array[p->array];
	hid_t space = file_space(l, p);
	hid_t memory = memory_space(l, p);
	hid_t type = hdf5_memory_type(a->type);

	account_box("hdf5", reading, path, "/", l, p);
	if (reading)
		hdf5_check(H5Dread(set, type, memory, space, transfer, p->buffer), "H5Dread",
			   a->name);
	else
		hdf5_check(H5Dwrite(set, type, memory, space, transfer, p->buffer), "H5Dwrite",
			   a->name);
	H5Sclose(memory);
	H5Sclose(space);
}

static void sets(hid_t file, hid_t transfer, const char *path, const struct layout *l,
		 const struct pieces *p, bool reading)
{
	unsigned piece = 0;

	for (unsigned i = 0; i < l->arrays; i++) {
		const struct array *a = &l->array[i];
		hid_t set =
			reading ? H5Dopen2(file, a->name, H5P_DEFAULT) : hdf5_create(file, l, a);
		hdf5_check(set, "H5Dopen2", a->name);
		for (; piece < p->n && p->piece[piece].array == i; piece++)
			move(set, transfer, path, l, &p->piece[piece], reading);
		hdf5_check(H5Dclose(set), "H5Dclose", a->name);
	}
	if (piece < p->n)
		fail("HDF5", path, "pieces that are not in the order of the arrays");
}

static void write_file(const struct job *job, const char *path, const struct layout *l,
		       const struct pieces *p)
{
	hid_t access = access_list(job, l);
	hid_t transfer = transfer_list(job);
	hid_t file =
		hdf5_check(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access), "H5Fcreate", path);

	hdf5_begin(file, l);
	sets(file, transfer, path, l, p, false);
	hdf5_check(H5Fclose(file), "H5Fclose", path);
	H5Pclose(transfer);
	H5Pclose(access);
}

static void read_file(const struct job *job, const char *path, const struct layout *l,
		      const struct pieces *p)
{
	hid_t access = access_list(job, l);
	hid_t transfer = transfer_list(job);
	hid_t file = hdf5_check(H5Fopen(path, H5F_ACC_RDONLY, access), "H5Fopen", path);

	sets(file, transfer, path, l, p, true);
	hdf5_check(H5Fclose(file), "H5Fclose", path);
	H5Pclose(transfer);
	H5Pclose(access);
}

const struct form form_hdf5 = {"h5", false, write_file, read_file};
