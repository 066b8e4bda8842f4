/* Extended attributes. */
#include <sys/xattr.h>

#include "semantics.h"

static void values(void)
{
	char value[20] = "";
	int fd = file_with("f", "text");

	SAY(setxattr(in("f"), "user.a", "one", 3, 0));
	SAY(getxattr(in("f"), "user.a", value, sizeof(value)));
	say("\"%.3s\"", value);
	SAY(fsetxattr(fd, "user.b", "", 0, 0));
	SAY(fgetxattr(fd, "user.b", value, sizeof(value)));
	SAY(getxattr(in("f"), "user.c", value, sizeof(value)));
	SAY(removexattr(in("f"), "user.a"));
	SAY(removexattr(in("f"), "user.a"));
}

static void sizes(void)
{
	char value[4];

	file_with("f", "text");
	SAY(setxattr(in("f"), "user.a", "some text", 9, 0));
	SAY(getxattr(in("f"), "user.a", NULL, 0));
	SAY(getxattr(in("f"), "user.a", value, sizeof(value)));
	SAY(listxattr(in("f"), NULL, 0));
	SAY(listxattr(in("f"), value, sizeof(value)));
}

static void list(void)
{
	char names[100];
	long length;
	int fd = file_with("f", "text");

	SAY(flistxattr(fd, names, sizeof(names)));
	SAY(setxattr(in("f"), "user.b", "1", 1, 0));
	SAY(setxattr(in("f"), "user.a", "2", 1, 0));
	length = flistxattr(fd, names, sizeof(names));
	SAY(length);
	for (long i = 0; i < length; i += (long)strlen(names + i) + 1)
		say("%s", names + i);
}

static void flags(void)
{
	file_with("f", "text");
	SAY(setxattr(in("f"), "user.a", "1", 1, XATTR_REPLACE));
	SAY(setxattr(in("f"), "user.a", "1", 1, XATTR_CREATE));
	SAY(setxattr(in("f"), "user.a", "2", 1, XATTR_CREATE));
	SAY(setxattr(in("f"), "user.a", "2", 1, XATTR_REPLACE));
	SAY(setxattr(in("f"), "user.a", "2", 1, 8));
}

static void mistakes(void)
{
	static char large[70000];
	char name[300] = "user.";

	file_with("f", "text");
	memset(name + 5, 'n', 251);
	SAY(setxattr(in("f"), "plain", "1", 1, 0));
	SAY(setxattr(in("f"), "user.", "1", 1, 0));
	SAY(setxattr(in("f"), name, "1", 1, 0));
	SAY(setxattr(in("f"), "user.a", large, sizeof(large), 0));
	SAY(setxattr(in("nowhere"), "user.a", "1", 1, 0));
}

static void links(void)
{
	char value[10];

	file_with("f", "text");
	MUST(symlink("f", in("l")));
	SAY(setxattr(in("l"), "user.a", "1", 1, 0));
	SAY(lsetxattr(in("l"), "user.a", "1", 1, 0));
	SAY(lgetxattr(in("l"), "user.a", value, sizeof(value)));
	SAY(getxattr(in("f"), "user.a", value, sizeof(value)));
	SAY(llistxattr(in("l"), value, sizeof(value)));
}

static void of_directory(void)
{
	char value[10];

	SAY(setxattr(in("."), "user.a", "1", 1, 0));
	SAY(getxattr(in("."), "user.a", value, sizeof(value)));
}

static void trusted(void)
{
	char value[10];

	file_with("f", "text");
	SAY(setxattr(in("f"), "trusted.a", "1", 1, 0));
	SAY(getxattr(in("f"), "trusted.a", value, sizeof(value)));
}

static void capabilities(void)
{
	static const unsigned char vfs_cap[20] = {0, 0, 0, 2, 0, 4};
	unsigned char value[40];
	int fd = file_with("f", "text");

	SAY(setxattr(in("f"), "security.capability", vfs_cap, sizeof(vfs_cap), 0));
	SAY(getxattr(in("f"), "security.capability", value, sizeof(value)));
	MUST(pwrite(fd, "T", 1, 0));
	SAY(getxattr(in("f"), "security.capability", value, sizeof(value)));
}

/* user::rw-, user:12:rw-, group::r--, mask::rw-, other::--- */
static const unsigned char acl[] = {2,   0,   0,   0,   1,   0,   6,  0,   255, 255, 255,
				    255, 2,   0,   6,   0,   12,  0,  0,   0,   4,   0,
				    4,   0,   255, 255, 255, 255, 16, 0,   6,   0,   255,
				    255, 255, 255, 32,  0,   0,   0,  255, 255, 255, 255};

static void access_lists(void)
{
	unsigned char value[100];
	struct stat about;

	file_with("f", "text");
	SAY(setxattr(in("f"), "system.posix_acl_access", acl, sizeof(acl), 0));
	SAY(getxattr(in("f"), "system.posix_acl_access", value, sizeof(value)));
	MUST(stat(in("f"), &about));
	say("%04o", about.st_mode & 07777);
}

static void not_the_owner(void)
{
	char value[10];

	MUST(chmod(in(""), 0777));
	file_with("f", "text");
	MUST(chmod(in("f"), 0644));
	become_nobody();
	SAY(setxattr(in("f"), "user.a", "1", 1, 0));
	SAY(getxattr(in("f"), "user.a", value, sizeof(value)));
}

const struct check xattr_checks[] = {
	{"xattrs", "user.a set, got; an empty one; one that is not there; removed, again", values},
	{"xattrs", "sizes asked for; too little room", sizes},
	{"xattrs", "none listed; two listed", list},
	{"xattrs", "XATTR_REPLACE of none, XATTR_CREATE, again, XATTR_REPLACE, an unknown flag",
	 flags},
	{"xattrs", "of no class, no name, a name of 256 bytes, a value of 70,000, of no file",
	 mistakes},
	{"xattrs", "through a link; of it: set, got, the file's, listed", links},
	{"xattrs", "of a directory", of_directory},
	{"xattrs", "trusted.a as root", trusted},
	{"xattrs", "security.capability; after a write", capabilities},
	{"xattrs", "system.posix_acl_access; mode", access_lists},
	{"xattrs", "by another user, of a file of mode 0644: set, got", not_the_owner},
	{0},
};
