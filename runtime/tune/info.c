/* Hints: into a copy of the MPI_Info that a program opens a file with. */
#include <fcntl.h>
#include <string.h>

#include "handlers/library.h"
#include "handlers/mpi_abi.h"
#include "handlers/mpiio.h"
#include "tune/settings.h"

enum { NAME = 4096 };

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

void tune_info(struct tuned *t, uint32_t wrapper, const char *name, uintptr_t *info)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi(wrapper);
	const struct setting *s;
	char path[NAME];
	uint32_t at = 0;

	tuned_start(t);
	if (!abi || !name)
		return;
	path_absolute(path, sizeof(path), AT_FDCWD, mpi_bare_name(name));
	while ((s = setting_next(&at, -1, path, NULL))) {
		const bool set =
			own_info(t, abi, *info) && abi->info_set(t->info, s->key, s->value) == 0;

		tuned_tell(t, s, set ? NULL : "MPI_Info takes it not");
	}
	if (t->info)
		*info = t->info;
}
