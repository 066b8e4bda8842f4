/* Confines itself, then writes N times 8 bytes, at places that no line predicts, and copies what it wrote in both halves.
 * usage: confined WAY FILE N */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "must.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

enum { UNABLE = 77 }; /* this kernel or user cannot */

static void landlock(void)
{
	struct landlock_ruleset_attr denied = {.handled_access_fs = 0x1fff};
	const long rules = syscall(SYS_landlock_create_ruleset, &denied, sizeof(denied), 0);

	if (rules < 0)
		exit(UNABLE);
	MUST(syscall(SYS_prctl, 38 /* no new rights */, 1, 0, 0, 0) == 0);
	MUST(syscall(SYS_landlock_restrict_self, rules, 0) == 0);
	close((int)rules);
}

static void limit(int what, rlim_t most)
{
	const struct rlimit limit = {most, most};

	MUST(setrlimit(what, &limit) == 0);
}

static void confine(const char *way, int file)
{
	if (!strcmp(way, "landlock")) {
		landlock();
	} else if (!strcmp(way, "chroot")) {
		MUST(chroot("/proc/self/fdinfo") == 0 && chdir("/") == 0);
	} else if (!strcmp(way, "user")) {
		MUST(setgid(65534) == 0 && setuid(65534) == 0);
	} else if (!strcmp(way, "mounts")) {
		if (unshare(CLONE_NEWNS))
			exit(UNABLE);
	} else if (!strcmp(way, "users")) {
		if (unshare(CLONE_NEWUSER))
			exit(UNABLE);
	} else if (!strcmp(way, "descriptors")) {
		for (int i = 3; i < 1024; i++)
			if (i != file)
				close(i);
		limit(RLIMIT_NOFILE, (rlim_t)file + 1);
	} else if (!strcmp(way, "memory")) {
		limit(RLIMIT_AS, 1 << 20);
	} else if (!strcmp(way, "file size")) {
		limit(RLIMIT_FSIZE, 8 << 20);
	} else {
		MUST(!strcmp(way, "not at all"));
	}
}

int main(int count, char **argument)
{
	uint64_t state = 88172645463325252u;
	int file;

	MUST(count == 4);
	file = open(argument[2], O_CREAT | O_RDWR | O_TRUNC, 0600);
	MUST(file >= 0);
	confine(argument[1], file);
	for (long i = 0, n = atol(argument[3]); i < n; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		MUST(pwrite(file, &state, 8, (off_t)(state % 1000000 * 8)) == 8);
	}
	MUST(write(1, "done\n", 5) == 5);
	close(file);
	return 3;
}
