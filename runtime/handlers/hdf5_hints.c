/* The properties in force of HDF5's files and datasets, once for each that is opened: table hints_in_force. Files
 * are asked by the list that opened them: a copy of a file's own list would duplicate its communicator, and
 * that communicates. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "handlers/hdf5.h"
#include "handlers/library.h"

enum { TEXT = 512, NAMES = 64, VALUES = 8, NESTED = 4 };

struct text {
	char s[TEXT];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(t->s + t->n, TEXT - t->n, format, list);
	va_end(list);
	if (n > 0)
		t->n = t->n + (size_t)n < TEXT ? t->n + (size_t)n : TEXT - 1;
}

__attribute__((format(printf, 3, 4))) static void say(struct call *c, const char *key,
						      const char *format, ...)
{
	char value[TEXT];
	va_list list;

	va_start(list, format);
	vsnprintf(value, sizeof(value), format, list);
	va_end(list);
	object_hint(c, c->object, true, key, value);
}

/* The word of a number; "" for one that is not known. */
static const char *word(const char *const *words, int n, int which)
{
	return which >= 0 && which < n ? words[which] : "";
}
#define WORD(words, which) word(words, (int)(sizeof(words) / sizeof((words)[0])), which)

/* ---- types ---- */

enum {
	T_INTEGER,
	T_FLOAT,
	T_STRING = 3,
	T_OPAQUE = 5,
	T_COMPOUND = 6,
	T_ENUM = 8,
	T_VLEN,
	T_ARRAY
};

static int class_of(const struct hdf5_library *lib, int64_t type)
{
	return lib->type_class ? lib->type_class(type) : -1;
}

static bool is_number(int class)
{
	return class == T_INTEGER || class == T_FLOAT;
}

bool hdf5_is_compound(const struct hdf5_library *lib, int64_t type)
{
	return class_of(lib, type) == T_COMPOUND;
}

bool hdf5_of_numbers(const struct hdf5_library *lib, int64_t type)
{
	return is_number(class_of(lib, type));
}

static const char *byte_order(const struct hdf5_library *lib, int64_t type, size_t size)
{
	static const char *const orders[] = {" LE", " BE", " VAX"};

	return size > 1 && lib->type_order ? WORD(orders, lib->type_order(type)) : "";
}

static void add_type(const struct hdf5_library *lib, int64_t type, struct text *t, int depth);

static void add_super(const struct hdf5_library *lib, int64_t type, struct text *t, int depth)
{
	const int64_t super = lib->type_super && depth < NESTED ? lib->type_super(type) : -1;

	if (hdf5_id(lib, super) < 0)
		return;
	add(t, " of ");
	add_type(lib, hdf5_id(lib, super), t, depth + 1);
	lib->type_close(super);
}

static void add_type(const struct hdf5_library *lib, int64_t type, struct text *t, int depth)
{
	static const char *const classes[] = {
		"int",      "float",     "time", "string",          "bits",  "opaque",
		"compound", "reference", "enum", "variable length", "array", "complex",
	};
	const int class = class_of(lib, type);
	const size_t size = lib->type_size(type);

	if (class == T_INTEGER && lib->type_sign && lib->type_sign(type) == 0)
		add(t, "u");
	add(t, "%s", WORD(classes, class));
	if (is_number(class))
		add(t, "%zu%s", size * 8, byte_order(lib, type, size));
	else if (class == T_STRING && lib->type_is_variable && lib->type_is_variable(type) > 0)
		add(t, " variable length");
	else if (class == T_ENUM || class == T_VLEN || class == T_ARRAY)
		add_super(lib, type, t, depth);
	else
		add(t, " %zu", size);
}

/* Like "float64 LE", "compound 24", "array of int32 LE". */
void hdf5_type_hint(struct call *c, const struct hdf5_library *lib, int64_t type)
{
	struct text t = {.n = 0};

	add_type(lib, type, &t, 0);
	object_hint(c, c->object, true, "type", t.s);
}

/* ---- datasets ---- */

static void say_chunk(struct call *c, const struct hdf5_library *lib, int64_t list)
{
	struct text t = {.n = 0};
	uint64_t extent[HDF5_RANK];
	const int rank = lib->list_chunk ? lib->list_chunk(list, HDF5_RANK, extent) : 0;

	for (int d = 0; d < rank; d++)
		add(&t, "%s%llu", d ? "x" : "", (unsigned long long)extent[d]);
	if (rank > 0)
		object_hint(c, c->object, true, "chunk", t.s);
}

/* Like "shuffle(8) deflate(6)": the name, or the number of one without, and its parameters. */
static void say_filters(struct call *c, const struct hdf5_library *lib, int64_t list)
{
	static const char *const own[] = {"",     "deflate", "shuffle",    "fletcher32",
					  "szip", "nbit",    "scaleoffset"};
	const int filters = lib->list_filters ? lib->list_filters(list) : 0;
	struct text t = {.n = 0};

	for (int i = 0; i < filters && lib->list_filter; i++) {
		char name[NAMES] = "";
		unsigned values[VALUES], flags = 0, config = 0;
		size_t n = VALUES;
		const int id = lib->list_filter(list, (unsigned)i, &flags, &n, values, sizeof(name),
						name, &config);

		if (id < 0)
			return;
		name[NAMES - 1] = '\0';
		add(&t, "%s%s", i ? " " : "", *WORD(own, id) ? WORD(own, id) : name);
		if (!*WORD(own, id) && !*name)
			add(&t, "%d", id);
		for (size_t v = 0; v < n && v < VALUES; v++)
			add(&t, "%s%u", v ? "," : "(", values[v]);
		add(&t, "%s", n ? ")" : "");
	}
	if (filters > 0)
		object_hint(c, c->object, true, "filters", t.s);
}

static void say_fill(struct call *c, const struct hdf5_library *lib, int64_t list)
{
	static const char *const values[] = {"undefined", "default", "given"};
	static const char *const times[] = {"at allocation", "never", "if a value is given"};
	static const char *const allocations[] = {"default", "early", "late", "incremental"};
	int which = 0;

	if (lib->list_fill_defined && lib->list_fill_defined(list, &which) >= 0)
		object_hint(c, c->object, true, "fill_value", WORD(values, which));
	if (lib->list_fill_time && lib->list_fill_time(list, &which) >= 0)
		object_hint(c, c->object, true, "fill_time", WORD(times, which));
	if (lib->list_alloc_time && lib->list_alloc_time(list, &which) >= 0)
		object_hint(c, c->object, true, "alloc_time", WORD(allocations, which));
}

static void say_chunk_cache(struct call *c, const struct hdf5_library *lib, int64_t dataset)
{
	const int64_t list = lib->dataset_access ? hdf5_id(lib, lib->dataset_access(dataset)) : -1;
	size_t slots = 0, bytes = 0;
	double preempt = 0;

	if (list < 0)
		return;
	if (lib->list_chunk_cache && lib->list_chunk_cache(list, &slots, &bytes, &preempt) >= 0)
		say(c, "chunk_cache", "%zu bytes, %zu slots", bytes, slots);
	lib->list_close(list);
}

static void say_dataset(struct call *c, const struct hdf5_library *lib, int64_t dataset,
			int64_t list)
{
	static const char *const layouts[] = {"compact", "contiguous", "chunked", "virtual"};
	enum { CHUNKED = 2 };
	const int layout = lib->list_layout(list);

	object_hint(c, c->object, true, "layout", WORD(layouts, layout));
	if (layout == CHUNKED) {
		say_chunk(c, lib, list);
		say_filters(c, lib, list);
		say_chunk_cache(c, lib, dataset);
	}
	say_fill(c, lib, list);
}

/* A copy of the dataset's list costs several times all that is asked of it. It says more than the list given only of
 * filters, which get their parameters at creation, and of values of variable length, which are always filled. */
void hdf5_dataset_hints(struct call *c, const struct hdf5_library *lib, int64_t dataset,
			int64_t list)
{
	if (!c->thread || call_for_job(c) || !lib->dataset_list || !lib->list_close ||
	    !lib->list_layout)
		return;
	if (list == 0 && lib->default_dataset)
		list = hdf5_id(lib, *lib->default_dataset);
	if (list > 0 && lib->list_filters && lib->list_filters(list) == 0) {
		say_dataset(c, lib, dataset, list);
		return;
	}
	list = hdf5_id(lib, lib->dataset_list(dataset));
	if (list < 0)
		return;
	say_dataset(c, lib, dataset, list);
	lib->list_close(list);
}

/* ---- files ---- */

const char *hdf5_driver_name(const struct hdf5_library *lib, int64_t list)
{
	const int64_t driver = lib->list_driver ? hdf5_id(lib, lib->list_driver(list)) : -1;

	for (int i = 0; driver > 0 && i < HDF5_DRIVERS; i++) {
		const int64_t number = lib->driver_number[i] ? *lib->driver_number[i]
				       : lib->driver[i]      ? lib->driver[i]()
							     : -1;

		if (hdf5_id(lib, number) == driver)
			return hdf5_drivers[i].name;
	}
	return "";
}

/* H5F_libver_t: before 1.10.2 there were but the first and the latest. */
static const char *version_name(const struct hdf5_library *lib, int which)
{
	static const char *const names[] = {"earliest", "1.8", "1.10", "1.12", "1.14", "2.0"};

	if (lib->release < 11002 && which == 1)
		return "latest";
	return WORD(names, which);
}

static void say_sizes(struct call *c, const struct hdf5_library *lib, int64_t list)
{
	uint64_t threshold = 0, alignment = 0;
	size_t slots = 0, bytes = 0;
	double preempt = 0;
	int elements = 0;

	if (lib->list_alignment && lib->list_alignment(list, &threshold, &alignment) >= 0)
		say(c, "alignment", "%llu bytes, of objects of %llu and more",
		    (unsigned long long)alignment, (unsigned long long)threshold);
	if (lib->list_cache && lib->list_cache(list, &elements, &slots, &bytes, &preempt) >= 0)
		say(c, "chunk_cache", "%zu bytes, %zu slots", bytes, slots);
	if (lib->list_sieve && lib->list_sieve(list, &bytes) >= 0)
		say(c, "sieve_buffer", "%zu bytes", bytes);
	if (lib->list_meta_block && lib->list_meta_block(list, &threshold) >= 0)
		say(c, "meta_block", "%llu bytes", (unsigned long long)threshold);
}

static void say_versions(struct call *c, const struct hdf5_library *lib, int64_t list)
{
	int low = -1, high = -1;

	if (!lib->list_versions || lib->list_versions(list, &low, &high) < 0)
		return;
	object_hint(c, c->object, true, "libver_low", version_name(lib, low));
	object_hint(c, c->object, true, "libver_high", version_name(lib, high));
}

static void say_collective(struct call *c, const struct hdf5_library *lib, int64_t list)
{
	unsigned on = 0; /* hbool_t: one byte, or four before 1.10 */

	if (lib->list_collective_read && lib->list_collective_read(list, &on) >= 0)
		object_hint(c, c->object, true, "collective_metadata_read",
			    on & 0xff ? "true" : "false");
	on = 0;
	if (lib->list_collective_write && lib->list_collective_write(list, &on) >= 0)
		object_hint(c, c->object, true, "collective_metadata_write",
			    on & 0xff ? "true" : "false");
}

/* What only HDF5's own connector can tell: another would fail, and the failure be printed. */
static bool is_native(const struct hdf5_library *lib, int64_t file)
{
	unsigned native = 0; /* hbool_t */

	if (lib->release < 11200)
		return true;
	return lib->is_native && lib->is_native(file, &native) >= 0 && native & 0xff;
}

/* How the file's space is managed: asked of the file, whose own list has no communicator in it. */
static void say_file(struct call *c, const struct hdf5_library *lib, int64_t file)
{
	static const char *const strategies[] = {"free lists", "pages", "aggregation", "none"};
	size_t most = 0, clean = 0, now = 0;
	int64_t list = -1;
	uint64_t bytes = 0;
	unsigned persist = 0;
	int number = 0;

	if (lib->metadata_cache && is_native(lib, file) &&
	    lib->metadata_cache(file, &most, &clean, &now, &number) >= 0)
		say(c, "metadata_cache", "%zu bytes at most", most);
	if (lib->file_list && lib->list_strategy && lib->list_page)
		list = hdf5_id(lib, lib->file_list(file));
	if (list < 0)
		return;
	if (lib->list_strategy(list, &number, &persist, &bytes) >= 0)
		object_hint(c, c->object, true, "file_space", WORD(strategies, number));
	if (number == 1 && lib->list_page(list, &bytes) >= 0)
		say(c, "page", "%llu bytes", (unsigned long long)bytes);
	lib->list_close(list);
}

void hdf5_file_hints(struct call *c, const struct hdf5_library *lib, int64_t file, int64_t access,
		     bool parallel)
{
	int64_t list;

	if (!c->thread || call_for_job(c) || !lib)
		return;
	list = hdf5_id(lib, access);
	if (list == 0 && lib->default_access)
		list = hdf5_id(lib, *lib->default_access);
	if (list <= 0 && lib->copied_access)
		list = hdf5_id(lib, *lib->copied_access);
	if (list > 0) {
		object_hint(c, c->object, true, "driver", hdf5_driver_name(lib, list));
		say_sizes(c, lib, list);
		say_versions(c, lib, list);
		if (parallel)
			say_collective(c, lib, list);
	}
	say_file(c, lib, hdf5_id(lib, file));
}
