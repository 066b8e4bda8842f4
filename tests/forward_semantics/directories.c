/* Directories read. */
#include <dirent.h>
#include <ftw.h>
#include <glob.h>

#include "semantics.h"

enum { NAMES = 600 };

static void many(void)
{
	char name[40];

	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "name of a file %d", i);
		close((int)MUST(open(in(name), O_CREAT | O_WRONLY, 0600)));
	}
}

static void entries(void)
{
	const struct dirent *entry;
	int dots = 0, files = 0, links = 0, dirs = 0, inodes = 0;
	struct stat about;
	DIR *dir;

	file_with("f", "text");
	MUST(mkdir(in("d"), 0755));
	MUST(symlink("f", in("l")));
	dir = opendir(in("."));
	while ((entry = readdir(dir))) {
		dots += entry->d_name[0] == '.';
		files += entry->d_type == DT_REG;
		dirs += entry->d_type == DT_DIR;
		links += entry->d_type == DT_LNK;
		inodes += !lstat(in(entry->d_name), &about) && about.st_ino == entry->d_ino;
	}
	say("%d dots, %d files, %d directories, %d links, %d inodes", dots, files, dirs, links,
	    inodes);
	SAY(closedir(dir));
}

static void removed_meanwhile(void)
{
	const struct dirent *entry;
	int seen = 0, there = 0;
	DIR *dir;

	many();
	dir = opendir(in("."));
	while ((entry = readdir(dir))) {
		seen += entry->d_name[0] == 'n';
		if (entry->d_name[0] == 'n')
			MUST(unlink(in(entry->d_name)));
	}
	rewinddir(dir);
	while ((entry = readdir(dir)))
		there += entry->d_name[0] == 'n';
	say("%d, then %d", seen, there);
}

static void places(void)
{
	char first[NAME_MAX + 1];
	DIR *dir;
	long place = 0;

	many();
	dir = opendir(in("."));
	for (int i = 0; i < 300; i++)
		MUST(readdir(dir) ? 0 : -1);
	place = telldir(dir);
	snprintf(first, sizeof(first), "%s", readdir(dir)->d_name);
	for (int i = 0; i < 100; i++)
		MUST(readdir(dir) ? 0 : -1);
	for (int i = 100; i < 200; i++) {
		char name[40];

		snprintf(name, sizeof(name), "name of a file %d", i);
		if (strcmp(name, first))
			MUST(unlink(in(name)));
	}
	seekdir(dir, place);
	say(strcmp(readdir(dir)->d_name, first) ? "another" : "the same");
}

static void made_meanwhile(void)
{
	DIR *dir = opendir(in("."));
	int seen = 0;

	MUST(readdir(dir) ? 0 : -1);
	file_with("f", "text");
	rewinddir(dir);
	while (readdir(dir))
		seen++;
	say("%d", seen);
}

static void opened_otherwise(void)
{
	int fd = (int)MUST(open(in("."), O_RDONLY));
	DIR *dir = fdopendir(fd);

	SAY(dir ? 0 : -1);
	say(dirfd(dir) == fd ? "its descriptor" : "another descriptor");
	SAY(closedir(dir));
	SAY(fcntl(fd, F_GETFD));
	file_with("f", "text");
	SAY(opendir(in("f")) ? 0 : -1);
	SAY(opendir(in("nowhere")) ? 0 : -1);
}

static void removed(void)
{
	DIR *dir;
	int seen = 0;

	MUST(mkdir(in("d"), 0755));
	dir = opendir(in("d"));
	MUST(rmdir(in("d")));
	while (readdir(dir))
		seen++;
	say("%d", seen);
}

static int visited;

static int visit(const char *path, const struct stat *about, int kind, struct FTW *place)
{
	(void)path, (void)about, (void)kind, (void)place;
	visited++;
	return 0;
}

static void by_libc(void)
{
	struct dirent **list;
	char pattern[400];
	glob_t found;

	file_with("f", "text");
	MUST(mkdir(in("d"), 0755));
	SAY(scandir(in("."), &list, NULL, alphasort));
	SAY(nftw(in("."), visit, 4, 0));
	say("%d visited", visited);
	snprintf(pattern, sizeof(pattern), "%s/*", in("."));
	say("%d", glob(pattern, 0, NULL, &found) ? -1 : (int)found.gl_pathc);
}

static void by_getdents(void)
{
	char bytes[4096];
	int fd = (int)MUST(open(in("."), O_RDONLY | O_DIRECTORY));

	SAY(getdents64(fd, bytes, sizeof(bytes)) < 0 ? -1 : 0);
}

static void sought(void)
{
	int fd = (int)MUST(open(in("."), O_RDONLY | O_DIRECTORY));

	SAY(lseek(fd, 0, SEEK_SET));
	SAY(lseek(fd, -1, SEEK_SET));
}

const struct check directory_checks[] = {
	{"directories", "entries, kinds, inodes", entries},
	{"directories", "600 files removed as they are read: seen, left", removed_meanwhile},
	{"directories", "telldir, others removed, seekdir: the next name", places},
	{"directories", "a file made after opendir, rewinddir: entries", made_meanwhile},
	{"directories", "fdopendir, dirfd, closedir closes it, opendir of a file, of nothing",
	 opened_otherwise},
	{"directories", "removed: entries", removed},
	{"directories", "scandir, nftw, glob", by_libc},
	{"directories", "getdents64", by_getdents},
	{"directories", "lseek of a directory: 0, -1", sought},
	{0},
};
