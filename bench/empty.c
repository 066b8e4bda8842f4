/* libempty.so: a pwrite and a pread that do nothing. Preloaded below a tracer it leaves the tracer's
 * own cost: what one wrapped call adds, without the kernel's noise. */
#include <sys/types.h>
#include <unistd.h>

ssize_t pwrite(int fd, const void *data, size_t count, off_t offset)
{
	(void)fd, (void)data, (void)offset;
	return (ssize_t)count;
}

ssize_t pread(int fd, void *data, size_t count, off_t offset)
{
	(void)fd, (void)data, (void)offset;
	return (ssize_t)count;
}
