/* Small checks of what a file system does, each with one line of outcome; docs/forwarding-semantics.md is made of them. */
#ifndef SEMANTICS_H
#define SEMANTICS_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "outcome.h"

/* Runs in a process and a directory of its own. */
struct check {
	const char *subject, *what; /* together its name: told once, for all that do the same */
	void (*run)(void);
};

extern const struct check open_checks[], data_checks[], space_checks[], copy_checks[],
	name_checks[], attribute_checks[], xattr_checks[], process_checks[], mapping_checks[],
	lock_checks[], directory_checks[], event_checks[];

/* "ok", a number, or the name of errno. */
void say_result(long result);
#define SAY(call) say_result((errno = 0, (long)(call)))
/* What is not what the check is about, and must be. */
long must(long result, const char *call, int line);
#define MUST(call) must((long)(call), #call, __LINE__)

/* A path in the check's directory. */
const char *in(const char *name);
/* A file with this text, and a descriptor for reading and writing. */
int file_with(const char *name, const char *text);
/* A file of so many bytes of 'a' .. 'z'. */
int file_of(const char *name, size_t bytes);
/* What is in the file, or why it cannot be read; at most 60 bytes, '.' for a zero. */
void say_content(const char *name);
/* The next bytes that the descriptor gives, at most 60. */
void say_read(int fd);
long size_of(const char *name);
/* Runs it in a child; its outcome is a part of ours. */
void in_child(void (*run)(void *with), void *with);
/* The rest of this process is another user's. */
void become_nobody(void);

#endif
