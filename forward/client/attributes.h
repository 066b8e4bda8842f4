/* What is known of a file and of its file system, as libc says it. */
#ifndef FWD_ATTRIBUTES_H
#define FWD_ATTRIBUTES_H

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "fathom_fwd.h"

struct stat as_stat(const struct fathom_fwd_attr *attr);
struct statvfs as_statvfs(const struct fathom_fwd_statfs *about);

#endif
