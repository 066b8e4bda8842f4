/* Attributes: modes, owners, times, what a file system says of itself. */
#include <limits.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "semantics.h"

static void say_mode(const char *name)
{
	struct stat about;

	MUST(lstat(in(name), &about));
	say("%04o", about.st_mode & 07777);
}

static void modes(void)
{
	int fd = file_with("f", "text");

	MUST(symlink("f", in("l")));
	SAY(chmod(in("f"), 07777));
	say_mode("f");
	SAY(fchmod(fd, 0));
	say_mode("f");
	SAY(fchmodat(AT_FDCWD, in("l"), 0600, AT_SYMLINK_NOFOLLOW));
	SAY(chmod(in("l"), 0640));
	say_mode("f");
}

static void owners(void)
{
	struct stat about;
	int fd = file_with("f", "text");

	MUST(symlink("f", in("l")));
	SAY(chown(in("f"), 12, 13));
	SAY(fchown(fd, -1, 14));
	SAY(lchown(in("l"), 15, 16));
	MUST(stat(in("f"), &about));
	say("%d:%d", about.st_uid, about.st_gid);
	MUST(lstat(in("l"), &about));
	say("%d:%d", about.st_uid, about.st_gid);
}

static void chown_ends_set_id(void)
{
	int fd = file_with("f", "text");

	MUST(chmod(in("f"), 06777));
	SAY(chown(in("f"), 12, 13));
	say_mode("f");
	MUST(chmod(in("f"), 06777));
	SAY(fchown(fd, -1, -1));
	say_mode("f");
}

static void as_nobody(void *with)
{
	int fd;

	(void)with;
	become_nobody();
	fd = open(in("f"), O_WRONLY);
	if (fd < 0)
		say_result(fd);
	else
		SAY(pwrite(fd, "T", 1, 0));
}

static void write_ends_set_id(void)
{
	int fd;

	MUST(chmod(in(""), 0777));
	fd = file_with("f", "text");
	MUST(chmod(in("f"), 06777));
	MUST(pwrite(fd, "T", 1, 0));
	say_mode("f");
	in_child(as_nobody, NULL);
	say_mode("f");
}

static void as_nobody_again(void *with)
{
	(void)with;
	become_nobody();
	SAY(truncate(in("f"), 1));
}

static void truncate_ends_set_id(void)
{
	MUST(chmod(in(""), 0777));
	file_with("f", "text");
	MUST(chmod(in("f"), 06777));
	in_child(as_nobody_again, NULL);
	say_mode("f");
}

static void not_the_owner(void)
{
	MUST(chmod(in(""), 0777));
	file_with("f", "text");
	MUST(chmod(in("f"), 0666));
	become_nobody();
	SAY(chmod(in("f"), 0777));
	SAY(chown(in("f"), 65534, 65534));
	SAY(utimensat(AT_FDCWD, in("f"), (struct timespec[2]){{1, 0}, {1, 0}}, 0));
	SAY(utimensat(AT_FDCWD, in("f"), NULL, 0));
}

static void group_of_directory(void)
{
	struct stat about;

	MUST(mkdir(in("d"), 0755));
	MUST(chown(in("d"), 0, 7));
	MUST(chmod(in("d"), 02777));
	file_with("d/f", "text");
	MUST(mkdir(in("d/d"), 0755));
	MUST(stat(in("d/f"), &about));
	say("%d", about.st_gid);
	MUST(stat(in("d/d"), &about));
	say("%d %04o", about.st_gid, about.st_mode & 07777);
}

static void say_times(const char *name)
{
	struct stat about;

	MUST(lstat(in(name), &about));
	say("%ld.%09ld %ld.%09ld", about.st_atim.tv_sec, about.st_atim.tv_nsec,
	    about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
}

static void times(void)
{
	int fd = file_with("f", "text");

	SAY(utimensat(AT_FDCWD, in("f"), (struct timespec[2]){{1, 123456789}, {-2, 7}}, 0));
	say_times("f");
	SAY(futimens(fd, (struct timespec[2]){{5000000000, 1}, {0, UTIME_OMIT}}));
	say_times("f");
	SAY(futimens(fd, (struct timespec[2]){{0, UTIME_OMIT}, {0, UTIME_OMIT}}));
	SAY(futimens(fd, (struct timespec[2]){{0, 1000000000}, {0, 0}}));
}

static void times_of_link(void)
{
	MUST(symlink("nowhere", in("l")));
	SAY(utimensat(AT_FDCWD, in("l"), (struct timespec[2]){{1, 2}, {3, 4}},
		      AT_SYMLINK_NOFOLLOW));
	say_times("l");
	SAY(utimensat(AT_FDCWD, in("l"), (struct timespec[2]){{1, 2}, {3, 4}}, 0));
	SAY(utimensat(AT_FDCWD, in("l"), NULL, 0x40000));
}

static void times_now(void)
{
	struct stat about;
	int fd = file_with("f", "text");

	MUST(futimens(fd, (struct timespec[2]){{1, 0}, {1, 0}}));
	MUST(futimens(fd, (struct timespec[2]){{0, UTIME_NOW}, {0, UTIME_OMIT}}));
	MUST(fstat(fd, &about));
	say("%s %s", about.st_atim.tv_sec > 1 ? "now" : "1",
	    about.st_mtim.tv_sec > 1 ? "now" : "1");
	MUST(futimens(fd, (struct timespec[2]){{1, 0}, {1, 0}}));
	MUST(pwrite(fd, "T", 1, 0));
	MUST(fstat(fd, &about));
	say("%s %s", about.st_atim.tv_sec > 1 ? "now" : "1",
	    about.st_mtim.tv_sec > 1 ? "now" : "1");
	MUST(futimens(fd, (struct timespec[2]){{1, 0}, {1, 0}}));
	MUST(ftruncate(fd, 1));
	MUST(fstat(fd, &about));
	say("%s %s", about.st_atim.tv_sec > 1 ? "now" : "1",
	    about.st_mtim.tv_sec > 1 ? "now" : "1");
}

static void what_stat_says(void)
{
	struct stat file, dir, same;
	int fd = file_of("f", 5000);

	MUST(mkdir(in("d"), 0755));
	MUST(mkdir(in("d/x"), 0755));
	MUST(fstat(fd, &file));
	MUST(stat(in("f"), &same));
	MUST(stat(in("d"), &dir));
	say(file.st_ino == same.st_ino ? "one inode" : "two inodes");
	say(file.st_dev == dir.st_dev ? "one device" : "two devices");
	say("%d names", (int)dir.st_nlink);
	say("%ld bytes", (long)file.st_size);
	say("blocks of %ld", (long)file.st_blksize);
	MUST(fsync(fd));
	MUST(fstat(fd, &file));
	say("%ld blocks", (long)file.st_blocks);
}

static void what_statx_says(void)
{
	struct statx about;

	file_with("f", "text");
	SAY(statx(AT_FDCWD, in("f"), 0, STATX_BASIC_STATS | STATX_BTIME, &about));
	say(about.stx_mask & STATX_BTIME ? "birth" : "no birth");
	SAY(statx(AT_FDCWD, in("f"), 0x40000, STATX_BASIC_STATS, &about));
	SAY(statx(AT_FDCWD, in("f"), 0, STATX__RESERVED, &about));
	SAY(statx(AT_FDCWD, "", 0, STATX_SIZE, &about));
	SAY(statx(AT_FDCWD, in("f"), AT_STATX_DONT_SYNC, STATX_SIZE, &about));
}

static void accesses(void)
{
	file_with("f", "text");
	MUST(chmod(in("f"), 0644));
	SAY(access(in("f"), R_OK | W_OK));
	SAY(access(in("f"), X_OK));
	SAY(access(in("f"), 99));
	SAY(access(in("nowhere"), F_OK));
	SAY(faccessat(AT_FDCWD, in("f"), W_OK, AT_EACCESS));
	SAY(faccessat(AT_FDCWD, in("f"), W_OK, 0x40000));
}

static void file_system(void)
{
	struct statfs one;
	struct statvfs two;
	int fd = file_with("f", "text");

	SAY(statfs(in("f"), &one));
	say("type %lx, names of %ld", (long)one.f_type, (long)one.f_namelen);
	SAY(fstatvfs(fd, &two));
	say("blocks of %ld, %s", (long)two.f_bsize, two.f_blocks ? "some" : "none");
	SAY(statfs(in("nowhere"), &one));
}

static void path_limits(void)
{
	int fd = file_with("f", "text");

	SAY(pathconf(in("f"), _PC_NAME_MAX));
	SAY(pathconf(in("f"), _PC_PATH_MAX));
	SAY(pathconf(in("f"), _PC_FILESIZEBITS));
	SAY(fpathconf(fd, _PC_NAME_MAX));
	SAY(pathconf(in("nowhere"), _PC_NAME_MAX));
	SAY(pathconf(in("f"), 99));
}

static void most_links(void)
{
	int fd = file_with("f", "text");

	SAY(pathconf(in("f"), _PC_LINK_MAX));
	SAY(fpathconf(fd, _PC_LINK_MAX));
}

const struct check attribute_checks[] = {
	{"attributes", "chmod 7777, fchmod 0, of a link itself, through it", modes},
	{"attributes", "chown, fchown of the group, lchown", owners},
	{"attributes", "set-id bits after chown, after fchown(-1, -1)", chown_ends_set_id},
	{"attributes", "set-id bits after root's write, another's write", write_ends_set_id},
	{"attributes", "set-id bits after another's truncate", truncate_ends_set_id},
	{"attributes", "chmod, chown, utimensat of another user's file, to now", not_the_owner},
	{"attributes", "group of what is made in a directory with set-group-ID",
	 group_of_directory},
	{"attributes",
	 "utimensat before 1970, futimens after 2038 and UTIME_OMIT, both omitted, 10^9 ns", times},
	{"attributes", "utimensat of a dangling link itself, through it, with an unknown flag",
	 times_of_link},
	{"attributes", "times of reading and writing after UTIME_NOW, pwrite, ftruncate",
	 times_now},
	{"attributes",
	 "stat: inode, device, names of a directory, size, st_blksize, st_blocks of 5,000 bytes",
	 what_stat_says},
	{"attributes",
	 "statx: birth, an unknown flag, a reserved mask, an empty path, AT_STATX_DONT_SYNC",
	 what_statx_says},
	{"attributes", "access R W, X, mode 99, of nothing; faccessat AT_EACCESS, an unknown flag",
	 accesses},
	{"attributes", "statfs: type, longest name; fstatvfs; of nothing", file_system},
	{"attributes", "pathconf NAME_MAX, PATH_MAX, FILESIZEBITS, fpathconf, of nothing, 99",
	 path_limits},
	{"attributes", "pathconf, fpathconf LINK_MAX", most_links},
	{0},
};
