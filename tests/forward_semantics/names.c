/* Names: renamed, linked, removed, resolved. */
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "semantics.h"

static void rename_over_open(void)
{
	int old;

	file_with("f", "new");
	old = file_with("g", "old");
	SAY(rename(in("f"), in("g")));
	say_read(old);
	say_content("g");
	SAY(access(in("f"), F_OK));
}

static void renames(void)
{
	file_with("f", "text");
	MUST(mkdir(in("d"), 0755));
	MUST(mkdir(in("full"), 0755));
	MUST(mkdir(in("full/x"), 0755));
	SAY(rename(in("f"), in("d")));
	SAY(rename(in("d"), in("f")));
	SAY(rename(in("d"), in("d/x")));
	SAY(rename(in("d"), in("full")));
	SAY(rename(in("nowhere"), in("g")));
	SAY(rename(in("full"), in("d")));
}

static void rename_same(void)
{
	file_with("f", "text");
	MUST(link(in("f"), in("g")));
	SAY(rename(in("f"), in("g")));
	SAY(access(in("f"), F_OK));
	SAY(rename(in("f"), in("f")));
}

static void rename_slashes(void)
{
	file_with("f", "text");
	MUST(mkdir(in("d"), 0755));
	SAY(rename(in("f/"), in("g")));
	SAY(rename(in("f"), in("g/")));
	SAY(rename(in("d/"), in("e/")));
	SAY(rename(in("e/."), in("h")));
}

static void rename_flags(void)
{
	file_with("f", "f");
	file_with("g", "g");
	SAY(renameat2(AT_FDCWD, in("f"), AT_FDCWD, in("g"), RENAME_NOREPLACE));
	SAY(renameat2(AT_FDCWD, in("f"), AT_FDCWD, in("g"), RENAME_EXCHANGE));
	say_content("f");
	SAY(renameat2(AT_FDCWD, in("f"), AT_FDCWD, in("h"), RENAME_EXCHANGE));
	SAY(renameat2(AT_FDCWD, in("f"), AT_FDCWD, in("h"), RENAME_NOREPLACE | RENAME_EXCHANGE));
}

static void rename_whiteout(void)
{
	file_with("f", "f");
	SAY(renameat2(AT_FDCWD, in("f"), AT_FDCWD, in("h"), RENAME_WHITEOUT));
}

static void unlink_open(void)
{
	int fd = file_with("f", "text");
	struct stat about;

	SAY(unlink(in("f")));
	SAY(pwrite(fd, "T", 1, 0));
	say_read(fd);
	MUST(fstat(fd, &about));
	say("%d names", (int)about.st_nlink);
	SAY(ftruncate(fd, 100));
	SAY(fchmod(fd, 0600));
	SAY(linkat(fd, "", AT_FDCWD, in("again"), AT_EMPTY_PATH));
}

static void removals(void)
{
	file_with("f", "text");
	MUST(mkdir(in("d"), 0755));
	MUST(mkdir(in("d/x"), 0755));
	SAY(unlink(in("d")));
	SAY(rmdir(in("d")));
	SAY(rmdir(in("f")));
	SAY(unlink(in("f/")));
	SAY(rmdir(in("d/x/.")));
	SAY(rmdir(in("d/x/..")));
	SAY(rmdir(in("d/x/")));
	SAY(remove(in("d")));
	SAY(unlink(in("nowhere")));
}

static void directories_made(void)
{
	file_with("f", "text");
	SAY(mkdir(in("d/"), 0755));
	SAY(mkdir(in("d"), 0755));
	SAY(mkdir(in("f/x"), 0755));
	SAY(mkdir(in("e/."), 0755));
	SAY(mkdir(in("f/"), 0755));
}

static void hard_links(void)
{
	struct stat about;
	int fd = file_with("f", "text");

	MUST(mkdir(in("d"), 0755));
	SAY(link(in("f"), in("g")));
	SAY(link(in("f"), in("g")));
	SAY(link(in("d"), in("e")));
	SAY(link(in("nowhere"), in("h")));
	SAY(link(in("f"), in("h/")));
	MUST(stat(in("g"), &about));
	say("%d names", (int)about.st_nlink);
	SAY(linkat(fd, "", AT_FDCWD, in("i"), AT_EMPTY_PATH));
}

static void link_of_link(void)
{
	struct stat about;

	file_with("f", "text");
	MUST(symlink("f", in("l")));
	SAY(link(in("l"), in("a")));
	MUST(lstat(in("a"), &about));
	say(S_ISLNK(about.st_mode) ? "a link" : "the file");
	SAY(linkat(AT_FDCWD, in("l"), AT_FDCWD, in("b"), AT_SYMLINK_FOLLOW));
	MUST(lstat(in("b"), &about));
	say(S_ISLNK(about.st_mode) ? "a link" : "the file");
}

static void symbolic_links(void)
{
	char target[40] = "";

	file_with("f", "text");
	SAY(symlink("some//where/./x/", in("l")));
	SAY(readlink(in("l"), target, sizeof(target)));
	say("%s", target);
	SAY(readlink(in("l"), target, 4));
	SAY(readlink(in("l"), target, 0));
	SAY(readlink(in("f"), target, 4));
	SAY(symlink("", in("m")));
	SAY(symlink("x", in("l")));
}

static void loops(void)
{
	MUST(symlink("b", in("a")));
	MUST(symlink("a", in("b")));
	SAY(open(in("a"), O_RDONLY));
	SAY(access(in("a"), F_OK));
	SAY(unlink(in("a")));
}

static void dots_through_link(void)
{
	MUST(mkdir(in("A"), 0755));
	MUST(mkdir(in("A/B"), 0755));
	MUST(symlink("A/B", in("S")));
	file_with("x", "wrong");
	file_with("A/x", "right");
	say_content("S/../x");
	SAY(unlink(in("S/../x")));
	say_content("x");
}

static void absolute_link(void)
{
	file_with("f", "text");
	MUST(symlink(in("f"), in("l")));
	say_content("l");
}

static void relative_link_upwards(void)
{
	MUST(mkdir(in("d"), 0755));
	file_with("f", "text");
	MUST(symlink("../f", in("d/l")));
	say_content("d/l");
}

static void link_outwards(void)
{
	MUST(symlink("/etc/hostname", in("l")));
	SAY(access(in("l"), F_OK));
}

static void path_through_file(void)
{
	struct stat about;

	file_with("f", "text");
	MUST(mkdir(in("D"), 0755));
	SAY(stat(in("f/."), &about));
	SAY(stat(in("f/../D"), &about));
	SAY(stat(in("nowhere/../D"), &about));
	SAY(stat(in("D//./../f"), &about));
}

static void special_files(void)
{
	struct stat about;

	SAY(mkfifo(in("p"), 0644));
	SAY(mknod(in("c"), S_IFCHR | 0600, makedev(1, 3)));
	SAY(mknod(in("r"), S_IFREG | 0600, 0));
	if (!stat(in("c"), &about))
		say("%d:%d", major(about.st_rdev), minor(about.st_rdev));
}

static void fifo(void)
{
	if (mkfifo(in("p"), 0644)) {
		say_result(-1);
		return;
	}
	SAY(open(in("p"), O_WRONLY | O_NONBLOCK));
	SAY(open(in("p"), O_RDONLY | O_NONBLOCK) < 0 ? -1 : 0);
}

static void socket_name(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));

	snprintf(name.sun_path, sizeof(name.sun_path), "%.100s", in("s"));
	SAY(bind(fd, (struct sockaddr *)&name, sizeof(name)));
}

static void sticky(void)
{
	MUST(mkdir(in("d"), 0755));
	MUST(chmod(in("d"), 01777));
	file_with("d/f", "text");
	become_nobody();
	SAY(unlink(in("d/f")));
}

const struct check name_checks[] = {
	{"names", "rename over an open file: what it has, what the name has", rename_over_open},
	{"names",
	 "rename: file to directory, directory to file, into itself, to a full one, of nothing, to "
	 "an empty one",
	 renames},
	{"names", "rename of two names of a file; to itself", rename_same},
	{"names", "rename of f/, to g/, of d/ to e/, of e/.", rename_slashes},
	{"names", "RENAME_NOREPLACE, RENAME_EXCHANGE, with nothing, both", rename_flags},
	{"names", "RENAME_WHITEOUT", rename_whiteout},
	{"names", "removed while open: write, read, names, ftruncate, fchmod, a name again",
	 unlink_open},
	{"names",
	 "unlink of a directory, rmdir of a full one, of a file, unlink f/, rmdir x/., x/.., x/, "
	 "remove, of nothing",
	 removals},
	{"names", "mkdir d/, once more, below a file, e/., f/", directories_made},
	{"names", "link, once more, of a directory, of nothing, to h/; names; by AT_EMPTY_PATH",
	 hard_links},
	{"names", "link of a symbolic link; with AT_SYMLINK_FOLLOW", link_of_link},
	{"names",
	 "symlink; readlink, into 4 bytes, into none, of a file; an empty target; once more",
	 symbolic_links},
	{"names", "two links in a circle: open, access, unlink", loops},
	{"names", "link/../x: read, unlink", dots_through_link},
	{"names", "an absolute link to a file beside it", absolute_link},
	{"names", "a relative link upwards", relative_link_upwards},
	{"names", "a link that leads out", link_outwards},
	{"names", "stat of f/., f/../D, nowhere/../D, D//./../f", path_through_file},
	{"names", "mkfifo, mknod of a device, of a file", special_files},
	{"names", "a FIFO: opened for writing without a reader, for reading", fifo},
	{"names", "bind of a socket", socket_name},
	{"names", "unlink of another user's file in a sticky directory", sticky},
	{0},
};
