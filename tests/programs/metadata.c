/* 14 stats of every kind that a current C library gives a program, and other calls on names. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "must.h"

static void stats(int fd, int directory)
{
	struct stat s;
	struct statx x;

	for (int i = 0; i < 3; i++) {
		MUST(stat("file", &s) == 0);
		MUST(lstat("file", &s) == 0);
		MUST(fstat(fd, &s) == 0);
		MUST(fstatat(directory, "file", &s, 0) == 0);
	}
	MUST(statx(directory, "file", 0, STATX_SIZE, &x) == 0);
	MUST(statx(AT_FDCWD, "file", AT_SYMLINK_NOFOLLOW, STATX_BTIME, &x) == 0);
}

int main(int argc, char **argv)
{
	struct statfs space;

	MUST(argc == 2 && chdir(argv[1]) == 0);
	int directory = open(".", O_RDONLY | O_DIRECTORY);
	int fd = open("file", O_RDWR | O_CREAT, 0644);
	stats(fd, directory);
	MUST(mkdir("d", 0755) == 0 && rename("file", "d/other") == 0);
	MUST(link("d/other", "linked") == 0 && symlink("linked", "soft") == 0);
	MUST(access("soft", R_OK) == 0 && truncate("linked", 1000) == 0);
	MUST(statfs(".", &space) == 0 && fstatfs(fd, &space) == 0);
	MUST(posix_fallocate(fd, 0, 4096) == 0);
	MUST(fallocate(fd, 0, 4096, 4096) == 0);
	MUST(posix_fadvise(fd, 0, 4096, POSIX_FADV_DONTNEED) == 0);
	MUST(sync_file_range(fd, 0, 4096, SYNC_FILE_RANGE_WRITE) == 0);
	MUST(fsync(fd) == 0 && fdatasync(fd) == 0);
	DIR *list = opendir("d");
	MUST(list && readdir(list) && closedir(list) == 0);
	MUST(unlink("soft") == 0 && unlink("linked") == 0 &&
	     unlinkat(directory, "d/other", 0) == 0);
	MUST(rmdir("d") == 0 && close(fd) == 0 && close(directory) == 0);
	return 0;
}
