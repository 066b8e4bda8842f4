/* Serial netCDF (CDF-5): the files of the PnetCDF form, byte for byte. */
#include <netcdf.h>
#include <string.h>

#include "serial.h"

const char serial_suffix[] = "nc";

static void check(int error, const char *call, const char *object)
{
	if (error != NC_NOERR)
		fail(call, object, nc_strerror(error));
}

static nc_type nc_element(enum element type)
{
	return type == FLOAT64 ? NC_DOUBLE : type == FLOAT32 ? NC_FLOAT : NC_INT;
}

static void define(int file, const struct layout *l)
{
	int id, dim[LAYOUT_RANK], old;

	for (unsigned i = 0; i < l->dims; i++)
		check(nc_def_dim(file, l->dim[i].name,
				 l->dim[i].record ? NC_UNLIMITED : l->dim[i].size, &id),
		      "nc_def_dim", l->dim[i].name);
	for (unsigned i = 0; i < l->attributes; i++) {
		const struct attribute *a = &l->attribute[i];
		check(a->text ? nc_put_att_text(file, NC_GLOBAL, a->name, strlen(a->text), a->text)
			      : nc_put_att_double(file, NC_GLOBAL, a->name, nc_element(a->type), 1,
						  &a->value),
		      "nc_put_att", a->name);
	}
	for (unsigned i = 0; i < l->arrays; i++) {
		const struct array *a = &l->array[i];
		for (unsigned d = 0; d < a->rank; d++)
			dim[d] = (int)a->dim[d];
		check(nc_def_var(file, a->name, nc_element(a->type), (int)a->rank, dim, &id),
		      "nc_def_var", a->name);
	}
	check(nc_set_fill(file, NC_NOFILL, &old), "nc_set_fill", l->name);
	/* data begin where PnetCDF lets them begin */
	check(nc__enddef(file, 0, 512, 0, 4), "nc__enddef", l->name);
}

static void put(void *file, const struct layout *l, unsigned array, const void *data)
{
	const struct array *a = &l->array[array];
	size_t start[LAYOUT_RANK] = {0}, count[LAYOUT_RANK];

	for (unsigned d = 0; d < a->rank; d++)
		count[d] = array_extent(l, a, d);
	/* the untyped form takes the values in the variable's own type */
	check(nc_put_vara(*(int *)file, (int)array, start, count, data), "nc_put_vara", a->name);
}

void serial_file(const char *path, const struct layout *l)
{
	int file;

	check(nc_create(path, NC_CLOBBER | NC_64BIT_DATA, &file), "nc_create", path);
	define(file, l);
	for (unsigned i = 0; i < l->arrays; i++)
		serial_array(l, i, put, &file);
	check(nc_close(file), "nc_close", path);
}
