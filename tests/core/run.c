/* A traced run whose calls the test makes itself. */
#include <dirent.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "core/process.h"

static char directory[] = "/tmp/fathom-core.XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void remove_all(void)
{
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *run_begin(const char *level, const char *clock)
{
	char path[64];

	CHECK(mkdtemp(directory) != NULL);
	atexit(remove_all);
	snprintf(path, sizeof(path), "%s/run.fathom", directory);
	setenv("FATHOM_RUN", path, 1);
	snprintf(path, sizeof(path), "%s/ring", directory);
	setenv("FATHOM_RING", path, 1);
	setenv("FATHOM_LAYERS", "posix", 1);
	setenv("FATHOM_LEVEL", level, 1);
	setenv("FATHOM_CLOCK", clock, 1);
	CHECK(process_begin());
	return directory;
}

static char stream_path[512];

static int find_stream(const char *path, const struct stat *st, int type, struct FTW *at)
{
	const char *dot = strrchr(path, '.');

	(void)st, (void)at;
	if (type == FTW_F && dot && strcmp(dot, ".fts") == 0) {
		CHECK(!stream_path[0]); /* one process, one file */
		snprintf(stream_path, sizeof(stream_path), "%s", path);
	}
	return 0;
}

uint8_t *run_end(size_t *bytes)
{
	struct stat st;
	uint8_t *data;
	FILE *file;

	process_end();
	CHECK(nftw(directory, find_stream, 16, FTW_PHYS) == 0 && stream_path[0]);
	file = fopen(stream_path, "r");
	CHECK(file && fstat(fileno(file), &st) == 0);
	data = malloc((size_t)st.st_size);
	CHECK(data && fread(data, 1, (size_t)st.st_size, file) == (size_t)st.st_size);
	fclose(file);
	*bytes = (size_t)st.st_size;
	return data;
}
