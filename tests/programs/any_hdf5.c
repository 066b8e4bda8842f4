/* Works with any copy of HDF5, from 1.8 on: LIBRARY FILE. Functions are found by name, as Python's packages have
 * theirs; what a version does not have is left out. Handles are 4 bytes before 1.10. Prints what it has done:
 * "LIBRARY's version", then a word for each part that only some versions have. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t id;

static void *library;
static bool short_ids;

static void *find(const char *name)
{
	void *function = dlsym(library, name);

	if (!function) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return function;
}

static id checked(id what, const char *how)
{
	if (short_ids)
		what = (int32_t)what;
	if (what < 0) {
		fprintf(stderr, "%s failed\n", how);
		exit(1);
	}
	return what;
}

/* Calls of a function by name: one that gives a handle, and one that gives a status. */
#define ID(name, types, ...) checked(((id(*) types)find(name))(__VA_ARGS__), name)
#define DO(name, types, ...) checked(((int(*) types)find(name))(__VA_ARGS__), name)

static id type(const char *name)
{
	const void *number = find(name);

	return short_ids ? *(const int *)number : *(const id *)number;
}

static id list(const char *class)
{
	return ID("H5Pcreate", (id), type(class));
}

static id space_of(int rank, const uint64_t *extent, const uint64_t *most)
{
	return ID("H5Screate_simple", (int, const uint64_t *, const uint64_t *), rank, extent,
		  most);
}

static id dataset(id where, const char *name, id of, id space, id how)
{
	return ID("H5Dcreate2", (id, const char *, id, id, id, id, id), where, name, of, space, 0,
		  how, 0);
}

static void transfer(const char *op, id set, id memory, id file, void *data)
{
	DO(op, (id, id, id, id, id, void *), set, type("H5T_NATIVE_DOUBLE_g"), memory, file, 0,
	   data);
}

static void done(const char *close, id what)
{
	DO(close, (id), what);
}

/* ---- the parts ---- */

static void attributes(id object)
{
	const uint64_t three = 3;
	double value[3] = {1, 2, 3};
	id space = space_of(1, &three, NULL), a;

	a = ID("H5Acreate2", (id, const char *, id, id, id, id), object, "unit",
	       type("H5T_NATIVE_FLOAT_g"), space, 0, 0);
	DO("H5Awrite", (id, id, const void *), a, type("H5T_NATIVE_DOUBLE_g"), value);
	DO("H5Aread", (id, id, void *), a, type("H5T_NATIVE_FLOAT_g"), value);
	done("H5Aclose", a);
	a = ID("H5Acreate1", (id, const char *, id, id, id), object, "old",
	       type("H5T_NATIVE_INT_g"), space, 0);
	done("H5Aclose", a);
	DO("H5Arename", (id, const char *, const char *), object, "old", "older");
	a = ID("H5Aopen_by_name", (id, const char *, const char *, id, id), object, ".", "older", 0,
	       0);
	done("H5Aclose", a);
	DO("H5Adelete", (id, const char *), object, "older");
	DO("H5Aexists", (id, const char *), object, "unit");
	done("H5Sclose", space);
}

static void links(id group)
{
	DO("H5Lcreate_soft", (const char *, id, const char *, id, id), "/fields/plain", group,
	   "soft", 0, 0);
	DO("H5Lmove", (id, const char *, id, const char *, id, id), group, "soft", group, "softer",
	   0, 0);
	DO("H5Lexists", (id, const char *, id), group, "softer", 0);
	DO("H5Ldelete", (id, const char *, id), group, "softer", 0);
}

static void committed(id file)
{
	id of = ID("H5Tcopy", (id), type("H5T_NATIVE_INT_g"));

	DO("H5Tcommit2", (id, const char *, id, id, id, id), file, "count", of, 0, 0, 0);
	done("H5Tclose", of);
	of = ID("H5Oopen", (id, const char *, id), file, "count", 0);
	done("H5Oclose", of);
}

static void plain(id group)
{
	const uint64_t extent[2] = {20, 10}, start[2] = {2, 3}, count[2] = {4, 5},
		       start2[2] = {10, 0}, points[3][2] = {{1, 1}, {5, 5}, {7, 0}}, n = 3,
		       many = 21;
	static double data[200];
	id space = space_of(2, extent, NULL), memory, set;

	set = dataset(group, "plain", type("H5T_IEEE_F32BE_g"), space, 0);
	attributes(set);
	transfer("H5Dwrite", set, 0, 0, data);
	DO("H5Sselect_hyperslab",
	   (id, int, const uint64_t *, const uint64_t *, const uint64_t *, const uint64_t *), space,
	   0, start, NULL, count, NULL);
	memory = space_of(1, &(const uint64_t){20}, NULL);
	transfer("H5Dwrite", set, memory, space, data);
	done("H5Sclose", memory);
	memory = space_of(1, &many, NULL);
	DO("H5Sselect_hyperslab",
	   (id, int, const uint64_t *, const uint64_t *, const uint64_t *, const uint64_t *), space,
	   1, start2, NULL, (const uint64_t[2]){1, 1}, NULL);
	transfer("H5Dread", set, memory, space, data);
	done("H5Sclose", memory);
	memory = space_of(1, &n, NULL);
	DO("H5Sselect_elements", (id, int, size_t, const uint64_t *), space, 0, 3, &points[0][0]);
	transfer("H5Dread", set, memory, space, data);
	done("H5Sclose", memory);
	done("H5Sclose", space);
	done("H5Dclose", set);
}

static void chunked(id group)
{
	const uint64_t extent[2] = {20, 10}, most[2] = {UINT64_MAX, 10}, chunk[2] = {5, 10},
		       more[2] = {30, 10}, at[2] = {20, 0};
	static double data[300];
	id how = list("H5P_CLS_DATASET_CREATE_ID_g"), space = space_of(2, extent, most), set;
	double fill = -1;

	DO("H5Pset_chunk", (id, int, const uint64_t *), how, 2, chunk);
	DO("H5Pset_shuffle", (id), how);
	DO("H5Pset_deflate", (id, unsigned), how, 6);
	DO("H5Pset_fill_value", (id, id, const void *), how, type("H5T_NATIVE_DOUBLE_g"), &fill);
	set = dataset(group, "chunked", type("H5T_NATIVE_DOUBLE_g"), space, how);
	transfer("H5Dwrite", set, 0, 0, data);
	DO("H5Dset_extent", (id, const uint64_t *), set, more);
	transfer("H5Dread", set, 0, 0, data);
	if (dlsym(library, "H5Dwrite_chunk")) {
		printf(" chunks");
		DO("H5Dwrite_chunk", (id, id, uint32_t, const uint64_t *, size_t, const void *),
		   set, 0, 3, at, sizeof(double[50]), data);
	}
	done("H5Dclose", set);
	done("H5Sclose", space);
	done("H5Pclose", how);
}

static void text(id group)
{
	const uint64_t two = 2;
	const char *words[2] = {"one", "two words"};
	id of = ID("H5Tcopy", (id), type("H5T_C_S1_g")), space = space_of(1, &two, NULL), set;

	DO("H5Tset_size", (id, size_t), of, SIZE_MAX);
	set = dataset(group, "text", of, space, 0);
	DO("H5Dwrite", (id, id, id, id, id, const void *), set, of, 0, 0, 0, words);
	done("H5Dclose", set);
	done("H5Sclose", space);
	done("H5Tclose", of);
}

static void several(id group)
{
	const uint64_t n = 8;
	double data[8] = {0};
	const void *from[2] = {data, data};
	id of = type("H5T_NATIVE_DOUBLE_g"), space = space_of(1, &n, NULL), all[2] = {0, 0};
	id types[2] = {of, of}, set[2];

	set[0] = dataset(group, "first", of, space, 0);
	set[1] = dataset(group, "second", of, space, 0);
	if (dlsym(library, "H5Dwrite_multi")) {
		printf(" several");
		DO("H5Dwrite_multi",
		   (size_t, const id *, const id *, const id *, const id *, id, const void **), 2,
		   set, types, all, all, 0, from);
	}
	done("H5Dclose", set[0]);
	done("H5Dclose", set[1]);
	done("H5Sclose", space);
}

static void events(id group)
{
	const uint64_t n = 8;
	double data[8] = {0};
	id of = type("H5T_NATIVE_DOUBLE_g"), space = space_of(1, &n, NULL), set, es;
	size_t open = 1;
	bool failed = true;

	if (dlsym(library, "H5ESwait")) {
		printf(" events");
		es = ID("H5EScreate", (void));
		set = ID("H5Dcreate_async",
			 (const char *, const char *, unsigned, id, const char *, id, id, id, id,
			  id, id),
			 __FILE__, __func__, __LINE__, group, "later", of, space, 0, 0, 0, es);
		DO("H5Dwrite_async",
		   (const char *, const char *, unsigned, id, id, id, id, id, const void *, id),
		   __FILE__, __func__, __LINE__, set, of, 0, 0, 0, data, es);
		DO("H5Dclose_async", (const char *, const char *, unsigned, id, id), __FILE__,
		   __func__, __LINE__, set, es);
		DO("H5ESwait", (id, uint64_t, size_t *, bool *), es, UINT64_MAX, &open, &failed);
		done("H5ESclose", es);
	}
	done("H5Sclose", space);
}

int main(int argc, char **argv)
{
	unsigned major, minor, release;
	id file, group, access;

	library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library) {
		fprintf(stderr, "usage: any_hdf5 LIBRARY FILE: %s\n", argc > 2 ? dlerror() : "");
		return 2;
	}
	DO("H5open", (void));
	DO("H5get_libversion", (unsigned *, unsigned *, unsigned *), &major, &minor, &release);
	short_ids = major == 1 && minor < 10;
	printf("%u.%u.%u", major, minor, release);
	access = list("H5P_CLS_FILE_ACCESS_ID_g");
	DO("H5Pset_alignment", (id, uint64_t, uint64_t), access, 1024, 4096);
	DO("H5Pset_cache", (id, int, size_t, size_t, double), access, 0, 1009, 4 << 20, 0.75);
	file = ID("H5Fcreate", (const char *, unsigned, id, id), argv[2], 2, 0, access);
	group = ID("H5Gcreate2", (id, const char *, id, id, id), file, "fields", 0, 0, 0);
	plain(group);
	chunked(group);
	text(group);
	several(group);
	events(group);
	links(group);
	committed(file);
	DO("H5Fflush", (id, int), file, 1);
	done("H5Gclose", group);
	group = ID("H5Gopen1", (id, const char *), file, "/fields");
	done("H5Gclose", group);
	done("H5Fclose", file);
	done("H5Pclose", access);
	printf("\n");
	return 0;
}
