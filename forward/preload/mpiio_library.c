/* Which MPI the process has: the one whose functions we stand before. Says to runtime/handlers/mpi_abi.c what
 * libfathom.so knows from its edges. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "handlers/library.h"
#include "mpiio.h"
#include "skin.h"

static const void *function_of_mpi; /* any, as it was before us */

/* For libfathom.so: what it shall call for this function of an MPI. NULL: the function itself. Called while the
 * process starts: nothing of libc is ready. */
FATHOM_FWD_API void *fathom_fwd_before(const char *name, void *original);
void *fathom_fwd_before(const char *name, void *original)
{
	for (unsigned int i = 0; i < mpiio_symbols_count; i++) {
		const struct mpiio_symbol *s = &mpiio_symbols[i];

		if (strcmp(s->name, name) != 0)
			continue;
		if (*s->behind && *s->behind != original)
			return NULL; /* a second MPI is left as it is */
		*s->behind = original;
		function_of_mpi = original;
		return s->before;
	}
	return NULL;
}

/* ---- what mpi_abi.c asks ---- */

void note(const char *format, ...)
{
	(void)format; /* libfathom.so, which is there too, says it */
}

void *library_of(uint32_t wrapper)
{
	Dl_info about;

	(void)wrapper;
	if (!function_of_mpi || !dladdr(function_of_mpi, &about))
		return NULL;
	return dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static void *symbol_in(void *library, void *otherwise, const char *name)
{
	void *at = dlsym(library, name);

	return at ? at : dlsym(otherwise, name);
}

void *library_function(void *library, const char *name)
{
	return symbol_in(library ? library : RTLD_DEFAULT, RTLD_DEFAULT, name);
}

void *library_variable(void *library, const char *name)
{
	return symbol_in(RTLD_DEFAULT, library ? library : RTLD_DEFAULT, name);
}

/* ---- what accesses need ---- */

static struct mpiio_library known;

static bool find(void *slot, const char *name)
{
	void *at = library_function(library_of(0), name);

	memcpy(slot, &at, sizeof(at));
	return at != NULL;
}

static bool find_counting(void *slot, const char *large, const char *plain)
{
	return find(slot, large) || find(slot, plain);
}

static void find_library(void)
{
	const int before = errno;
	const struct mpi_abi *abi = mpi_abi(0);

	if (abi && find(&known.bcast, "PMPI_Bcast") &&
	    find(&known.position, "PMPI_File_get_position") &&
	    find(&known.seek, "PMPI_File_seek") &&
	    find(&known.atomicity, "PMPI_File_get_atomicity") &&
	    find(&known.call_errhandler, "PMPI_File_call_errhandler") &&
	    find(&known.set_elements, "PMPI_Status_set_elements_x") &&
	    find_counting(&known.read_at, "PMPI_File_read_at_c", "PMPI_File_read_at") &&
	    find_counting(&known.write_at, "PMPI_File_write_at_c", "PMPI_File_write_at") &&
	    find_counting(&known.read, "PMPI_File_read_c", "PMPI_File_read") &&
	    find_counting(&known.write, "PMPI_File_write_c", "PMPI_File_write"))
		known.abi = abi;
	dlerror(); /* what was not found is nobody's error */
	errno = before;
}

const struct mpiio_library *mpiio_library(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_library);
	return known.abi ? &known : NULL;
}
