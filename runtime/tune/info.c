/* Hints: into a copy of the MPI_Info that a program opens a file with. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/library.h"
#include "handlers/mpi_abi.h"
#include "handlers/mpiio.h"
#include "tune/live.h"

enum {
	NAME = 4096,
	WORD = 64, /* of a number */
};

/* A copy of the program's, made at the first setting. */
static bool own_info(struct tuned *t, const struct mpi_abi *abi, uintptr_t given)
{
	if (t->info)
		return true;
	t->info_free = abi->info_free;
	if (mpi_handle(abi, given) == abi->info_null)
		return abi->info_create(&t->info) == 0;
	return abi->info_dup(given, &t->info) == 0;
}

static bool is_reported(const struct tuned *t, const char *key)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (strcmp(setting_at(t->report[i].setting)->key, key) == 0)
			return true;
	return false;
}

/* Why a file that is open must not have this; NULL: it may. ROMIO makes its buffers at the open, and writes behind their end
 * when told of larger ones later. */
static const char *not_now(const struct mpi_abi *abi, const struct setting *s, uintptr_t in_force)
{
	char value[WORD] = "";
	char *end = value;
	int is_set = 0;

	if (s->anew)
		return NULL;
	if (!in_force || abi->info_get(in_force, s->key, WORD - 1, value, &is_set) != 0 || !is_set)
		return "the file is open, and what it has is not known";
	const long long has = strtoll(value, &end, 10);

	return end == value || *end || strtoll(s->value, NULL, 10) > has
		       ? "the file is open, and can have less only"
		       : NULL;
}

/* `but`: keys that were set already stay as they are. `file`: one that is open; 0: none. */
static void set_hints(struct tuned *t, const struct mpi_abi *abi, const struct table *from,
		      bool but, const char *path, uintptr_t info, uintptr_t file)
{
	const struct setting *s;
	uintptr_t in_force = 0;
	uint32_t at = 0;

	if (file && abi->file_info(file, &in_force) != 0)
		in_force = 0;
	while ((s = setting_next(from, &at, -1, path, NULL))) {
		if (but && is_reported(t, s->key))
			continue;
		const char *left = file ? not_now(abi, s, in_force) : NULL;

		if (!left &&
		    !(own_info(t, abi, info) && abi->info_set(t->info, s->key, s->value) == 0))
			left = "MPI_Info takes it not";
		tuned_tell(t, s, left);
	}
	if (in_force && mpi_handle(abi, in_force) != abi->info_null)
		abi->info_free(&in_force);
}

static void set_all(struct tuned *t, const struct mpi_abi *abi, const struct table *live,
		    const char *path, uintptr_t *info)
{
	if (live)
		set_hints(t, abi, live, false, path, *info, 0);
	set_hints(t, abi, &settings, live, path, *info, 0);
	if (t->info)
		*info = t->info;
}

void tune_info(struct tuned *t, uint32_t wrapper, const char *name, uintptr_t *info)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi(wrapper);
	char path[NAME];

	tuned_start(t);
	if (!abi || !name)
		return;
	path_absolute(path, sizeof(path), AT_FDCWD, mpi_bare_name(name));
	set_all(t, abi, NULL, path, info);
}

void tune_open(struct tuned *t, uint32_t wrapper, uintptr_t comm, const char *name, uintptr_t *info)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi(wrapper);
	char path[NAME];

	tuned_start(t);
	if (!abi || !name)
		return;
	path_absolute(path, sizeof(path), AT_FDCWD, mpi_bare_name(name));
	set_all(t, abi, live_open(abi, wrapper, comm, path, &t->file), path, info);
}

static void forget(const struct mpi_abi *abi, uintptr_t file)
{
	void *tuned = (void *)handle_take(&tuned_files, 0, file);

	if (tuned)
		live_free(abi, tuned);
}

void tune_opened(struct tuned *t, int result, const uintptr_t *file)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi_known();

	if (!t->file || !abi)
		return;
	if (result || !file) {
		live_free(abi, t->file);
		return;
	}
	forget(abi, *file); /* of one whose close was not seen */
	if (!handle_put(&tuned_files, 0, *file, (uintptr_t)t->file))
		note("tuned: too many files are open: hints of %s stay", t->file->path);
}

void tune_hints(struct tuned *t, uint32_t wrapper, uintptr_t file, uintptr_t *info)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi(wrapper);
	const struct tuned_file *opened = (void *)handle_get(&tuned_files, 0, file);
	const struct table *live;

	tuned_start(t);
	if (!abi || !opened)
		return;
	/* each time: what the program says would take their place, and OMPIO forgets them with the view */
	live = live_again(abi, wrapper, opened);
	if (!live)
		return;
	set_hints(t, abi, live, false, opened->path, *info, file);
	t->open = file;
	if (t->info)
		*info = t->info;
}

void tune_close(struct tuned *t, uint32_t wrapper, const uintptr_t *file)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi(wrapper);

	tuned_start(t);
	if (abi && file)
		forget(abi, *file);
}
