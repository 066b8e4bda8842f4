/* HDF5's property lists: into copies of those that a program gives. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/call.h"
#include "core/text.h"
#include "edges/edges.h"
#include "handlers/hdf5.h"
#include "tune/settings.h"

enum { NAME = 4096, PARALLEL = 1024, CHUNKED = 2, CONTIGUOUS = 1 };

/* One copy of the library: what sets its knobs. */
struct lists {
	struct library_copy copy; /* first */
	struct hdf5_library *lib;
	int (*open)(void);
	int64_t (*create)(int64_t class);
	int64_t (*duplicate)(int64_t list);
	int (*get_printer)(int64_t stack, void **function, void **data);
	int (*set_printer)(int64_t stack, void *function, void *data);
	int (*external)(int64_t list);
	const int64_t *class[KNOB_LISTS];
	const int64_t *common[KNOB_LISTS]; /* of a program with a copy of the variable */
	void *set[KNOBS_MOST];
};

static struct lists libraries[LIBRARY_COPIES];

/* Names of files that are open by MPI-IO. */
static _Atomic uint64_t parallel[PARALLEL];

static const struct {
	size_t at;
	const char *name;
} wanted[] = {
	{offsetof(struct lists, open), "H5open"},
	{offsetof(struct lists, create), "H5Pcreate"},
	{offsetof(struct lists, duplicate), "H5Pcopy"},
	{offsetof(struct lists, get_printer), "H5Eget_auto2"},
	{offsetof(struct lists, set_printer), "H5Eset_auto2"},
	{offsetof(struct lists, external), "H5Pget_external_count"},
	{offsetof(struct lists, class[FILE_CREATE]), "H5P_CLS_FILE_CREATE_ID_g"},
	{offsetof(struct lists, class[FILE_ACCESS]), "H5P_CLS_FILE_ACCESS_ID_g"},
	{offsetof(struct lists, class[DATASET_CREATE]), "H5P_CLS_DATASET_CREATE_ID_g"},
	{offsetof(struct lists, class[DATASET_ACCESS]), "H5P_CLS_DATASET_ACCESS_ID_g"},
	{offsetof(struct lists, class[TRANSFER]), "H5P_CLS_DATASET_XFER_ID_g"},
};
enum { WANTED = sizeof(wanted) / sizeof(wanted[0]), CLASSES = WANTED - KNOB_LISTS };

static bool fill(void *entry, uint32_t wrapper, int api)
{
	struct lists *l = entry;
	struct edge_name names[WANTED + KNOBS_MOST];
	bool for_good;

	(void)api;
	l->lib = hdf5_library(wrapper);
	for (uint32_t i = 0; i < WANTED; i++)
		names[i].name = wanted[i].name;
	for (uint32_t i = 0; i < knobs_count; i++)
		names[WANTED + i].name = knobs[i].function;
	if (!l->lib || !l->lib->list_close || !l->lib->list_driver ||
	    !edge_defined(l->lib->owner, names, WANTED + knobs_count, &for_good))
		return false;
	for (uint32_t i = 0; i < WANTED; i++) {
		if (!names[i].address)
			return false;
		memcpy((char *)l + wanted[i].at, &names[i].address, sizeof(void *));
	}
	for (uint32_t i = 0; i < KNOB_LISTS; i++)
		l->common[i] = library_variable(NULL, wanted[CLASSES + i].name);
	for (uint32_t i = 0; i < knobs_count; i++)
		l->set[i] = names[WANTED + i].address;
	return true;
}

static struct lists *lists_of(uint32_t wrapper)
{
	return library_copy(libraries, sizeof(libraries[0]), wrapper, fill, 0);
}

/* ---- files that are open by MPI-IO ---- */

static void remember_parallel(const char *file)
{
	const uint64_t hash = text_hash(file, 0) | 1;

	for (uint32_t i = 0; i < PARALLEL; i++) {
		uint64_t there = 0;

		if (atomic_compare_exchange_strong(&parallel[(hash + i) % PARALLEL], &there,
						   hash) ||
		    there == hash)
			return;
	}
}

static bool is_parallel(const char *file)
{
	const uint64_t hash = text_hash(file, 0) | 1;

	for (uint32_t i = 0; i < PARALLEL; i++) {
		const uint64_t there = atomic_load(&parallel[(hash + i) % PARALLEL]);

		if (!there || there == hash)
			return there;
	}
	return false;
}

/* ---- one list ---- */

/* What a list is made for. */
struct subject {
	const char *file, *dataset;
	bool parallel;
	bool other;    /* file driver than the usual one and MPI-IO's */
	int64_t given; /* the program's own list */
	int64_t type, space;
};

static int64_t own_list(const struct lists *l, enum knob_list which, int64_t given)
{
	int64_t class = hdf5_id(l->lib, *l->class[which]);

	if (given != 0)
		return hdf5_id(l->lib, l->duplicate(given));
	if (class <= 0 && l->common[which])
		class = hdf5_id(l->lib, *l->common[which]);
	return hdf5_id(l->lib, l->create(class));
}

/* Why extents are none for this dataset; NULL: they are. HDF5 would fail the program's own call. */
static const char *wrong_extents(const struct lists *l, const struct subject *of,
				 const union knob_value *value, uint32_t n)
{
	const struct hdf5_library *lib = l->lib;
	uint64_t now[HDF5_RANK], most[HDF5_RANK], bytes = lib->type_size(of->type);
	const int layout = of->given && lib->list_layout ? lib->list_layout(of->given) : CONTIGUOUS;

	if (layout != CONTIGUOUS && layout != CHUNKED)
		return "neither contiguous nor chunked";
	if (of->given && l->external(of->given) > 0)
		return "its data are in external files";
	if (lib->dimensions(of->space, now, most) != (int)n)
		return "the dataset has another number of dimensions";
	for (uint32_t d = 0; d < n; d++) {
		if ((uint64_t)value[d].whole > most[d])
			return "the dataset is smaller than a chunk";
		bytes *= (uint64_t)value[d].whole;
		if (bytes >> 32)
			return "a chunk is 4 GiB or more";
	}
	return NULL;
}

static const char *set_one(const struct lists *l, const struct subject *of, const struct setting *s,
			   int64_t list)
{
	const struct knob *knob = s->knob;
	const union knob_value *value = s->values;
	void *function = l->set[knob - knobs];
	const char *wrong;

	if (of->other)
		return "of another file driver";
	if (!function)
		return "this HDF5 has it not";
	if (knob->parallel && !of->parallel)
		return "the file is not opened by MPI-IO";
	if (knob->serial && of->parallel)
		return "the file is opened by MPI-IO";
	wrong = knob->many ? wrong_extents(l, of, value, s->n) : NULL;
	if (wrong)
		return wrong;
	return knob->set(function, list, value, s->n) < 0 ? "HDF5 refuses it" : NULL;
}

/* The program's list, or our copy of it with what could be set. */
static int64_t tuned_list(struct tuned *t, const struct lists *l, enum knob_list which,
			  const struct subject *of)
{
	const struct setting *s;
	int64_t *list = &t->list[t->list[0] >= 0];
	uint32_t at = 0;
	bool any = false;

	while ((s = setting_next(&settings, &at, which, of->file, of->dataset))) {
		const char *left;

		if (*list < 0)
			*list = own_list(l, which, of->given);
		left = *list < 0 ? "HDF5 copies its list not" : set_one(l, of, s, *list);
		any |= !left;
		tuned_tell(t, s, left);
	}
	return any ? *list : of->given;
}

/* ---- calls ---- */

/* HDF5 prints what fails inside it: not what fails for us. */
struct quiet {
	const struct lists *l;
	void *function, *data;
};

static struct quiet quiet_begin(struct tuned *t, const struct lists *l)
{
	struct quiet q = {.l = l};

	tuned_start(t);
	t->list_close = l->lib->list_close;
	l->open();
	l->get_printer(0, &q.function, &q.data);
	l->set_printer(0, NULL, NULL);
	return q;
}

static void quiet_end(const struct quiet *q)
{
	q->l->set_printer(0, q->function, q->data);
}

void tune_file(struct tuned *t, uint32_t wrapper, const char *name, int64_t *create,
	       int64_t *access)
{
	KEEP_ERRNO;
	const struct lists *l = lists_of(wrapper);
	struct subject of = {.given = access ? *access : 0};
	char path[NAME];

	tuned_start(t);
	if (!l || !name)
		return;
	const struct quiet q = quiet_begin(t, l);

	of.given = hdf5_id(l->lib, of.given);
	of.file = path_absolute(path, sizeof(path), AT_FDCWD, name);
	if (of.given > 0) {
		const char *driver = hdf5_driver_name(l->lib, of.given);

		of.parallel = strcmp(driver, "mpio") == 0;
		of.other = !of.parallel && strcmp(driver, "sec2") != 0;
	}
	if (of.parallel)
		remember_parallel(path);
	*access = tuned_list(t, l, FILE_ACCESS, &of);
	if (create) {
		of.given = hdf5_id(l->lib, *create);
		*create = tuned_list(t, l, FILE_CREATE, &of);
	}
	quiet_end(&q);
}

/* The absolute path of the file that an object is in; false: HDF5 tells it not. */
static bool file_of(const struct hdf5_library *lib, int64_t id, char *path)
{
	char name[NAME];

	if (lib->file_name(id, name, sizeof(name)) < 0)
		return false;
	path_absolute(path, NAME, AT_FDCWD, name);
	return true;
}

static void dataset_name(const struct hdf5_library *lib, int64_t where, const char *name, char *out)
{
	char group[NAME] = "";

	if (*name != '/' && (lib->name_of(where, group, sizeof(group)) < 0 || !group[1]))
		group[0] = '\0';
	snprintf(out, NAME, "%s%s%s", group, *name == '/' ? "" : "/", name);
}

void tune_dataset(struct tuned *t, uint32_t wrapper, int64_t where, const char *name, int64_t type,
		  int64_t space, int64_t *create, int64_t *access)
{
	KEEP_ERRNO;
	const struct lists *l = lists_of(wrapper);
	struct subject of = {.type = type, .space = space};
	char path[NAME], dataset[NAME];

	tuned_start(t);
	if (!l || !name)
		return;
	const struct quiet q = quiet_begin(t, l);

	where = hdf5_id(l->lib, where);
	if (file_of(l->lib, where, path)) {
		dataset_name(l->lib, where, name, dataset);
		of.file = path;
		of.dataset = dataset;
		of.parallel = is_parallel(path);
		if (create) {
			of.given = hdf5_id(l->lib, *create);
			*create = tuned_list(t, l, DATASET_CREATE, &of);
		}
		if (access) {
			of.given = hdf5_id(l->lib, *access);
			*access = tuned_list(t, l, DATASET_ACCESS, &of);
		}
	}
	quiet_end(&q);
}

void tune_transfer(struct tuned *t, uint32_t wrapper, int64_t dataset, int64_t *transfer)
{
	KEEP_ERRNO;
	const struct lists *l = lists_of(wrapper);
	struct subject of = {0};
	char path[NAME], name[NAME] = "";

	tuned_start(t);
	if (!l)
		return;
	const struct quiet q = quiet_begin(t, l);

	dataset = hdf5_id(l->lib, dataset);
	if (file_of(l->lib, dataset, path) && l->lib->name_of(dataset, name, sizeof(name)) >= 0) {
		of.file = path;
		of.dataset = name;
		of.parallel = is_parallel(path);
		of.given = hdf5_id(l->lib, *transfer);
		*transfer = tuned_list(t, l, TRANSFER, &of);
	}
	quiet_end(&q);
}
