/* The counter-example of docs/interception.md: the usual preload tool. It exports the functions it
 * watches and finds the next definition with dlsym(RTLD_NEXT). Counts go to standard error. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

enum { WRITE, PWRITE64, PREAD64, FDATASYNC, MPI_INITIALIZED, H5OPEN, H5FCREATE, H5DWRITE, NAMES };

static const char *const names[NAMES] = {"write",           "pwrite64", "pread64",   "fdatasync",
					 "MPI_Initialized", "H5open",   "H5Fcreate", "H5Dwrite"};
static void *next[NAMES];
static unsigned long calls[NAMES];

static void *find(int which)
{
	if (!next[which])
		next[which] = dlsym(RTLD_NEXT, names[which]);
	calls[which]++;
	return next[which];
}

ssize_t write(int fd, const void *buffer, size_t size)
{
	return ((ssize_t(*)(int, const void *, size_t))find(WRITE))(fd, buffer, size);
}

ssize_t pwrite64(int fd, const void *buffer, size_t size, off_t offset)
{
	return ((ssize_t(*)(int, const void *, size_t, off_t))find(PWRITE64))(fd, buffer, size,
									      offset);
}

ssize_t pread64(int fd, void *buffer, size_t size, off_t offset)
{
	return ((ssize_t(*)(int, void *, size_t, off_t))find(PREAD64))(fd, buffer, size, offset);
}

int fdatasync(int fd)
{
	return ((int (*)(int))find(FDATASYNC))(fd);
}

int MPI_Initialized(int *flag)
{
	return ((int (*)(int *))find(MPI_INITIALIZED))(flag);
}

int H5open(void)
{
	return ((int (*)(void))find(H5OPEN))();
}

int64_t H5Fcreate(const char *path, unsigned flags, int64_t creation, int64_t access)
{
	return ((int64_t(*)(const char *, unsigned, int64_t, int64_t))find(H5FCREATE))(
		path, flags, creation, access);
}

int H5Dwrite(int64_t set, int64_t type, int64_t memory, int64_t file, int64_t plist,
	     const void *data)
{
	return ((int (*)(int64_t, int64_t, int64_t, int64_t, int64_t, const void *))find(H5DWRITE))(
		set, type, memory, file, plist, data);
}

__attribute__((destructor)) static void end(void)
{
	for (int i = 0; i < NAMES; i++)
		if (calls[i])
			fprintf(stderr, "call %s %lu\n", names[i], calls[i]);
}
