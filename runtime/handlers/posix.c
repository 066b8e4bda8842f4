/* Hooks of catalog/probes/posix.toml: opens, closes and duplicates of descriptors. */
#include "handlers.h"

void posix_open(struct call *c, int fd, const char *path, int flags, mode_t mode)
{
	(void)mode;
	if (fd < 0)
		return;
	if (c->thread)
		c->object = descriptor_open(c, fd, AT_FDCWD, path, flags);
	else
		descriptor_close(fd); /* unknown from here on: the first recorded use asks what it is */
}

void posix_close(struct call *c, int fd)
{
	(void)c;
	descriptor_close(fd);
}
