/* Names: second paths, working directory, directory streams. */
#include "handlers/posix.h"

/* A failed call may have been given no text at all. */
static bool is_readable(const struct call *c, const char *text)
{
	return c->error != EFAULT && posix_readable(text);
}

void posix_to(struct call *c, int dirfd, const char *to)
{
	if (is_readable(c, to))
		call_path(c, "to", dirfd, to);
}

void posix_text(struct call *c, const char *name, const char *value)
{
	if (is_readable(c, value))
		call_text(c, name, value);
}

void posix_named(struct call *c, const char *path)
{
	if (path)
		c->object = path_object(AT_FDCWD, path);
}

void posix_moved_to(int result)
{
	if (result == 0)
		path_chdir();
}

/* dirfd() makes no call and cannot fail on a stream that is open. */
int posix_directory_fd(DIR *dir)
{
	return dir ? dirfd(dir) : -1;
}

uint32_t directory_object(DIR *dir)
{
	uint32_t object;

	if (!dir)
		return 0;
	object = (uint32_t)handle_get(&directories, 0, (uintptr_t)dir);
	return object ? object : descriptor_object(dirfd(dir));
}

void posix_directory_opened(struct call *c, DIR *dir, const char *path)
{
	if (!dir)
		return;
	posix_opened(c, dirfd(dir), AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->thread && c->object)
		handle_put(&directories, 0, (uintptr_t)dir, c->object);
}

void posix_directory_adopted(struct call *c, DIR *dir)
{
	if (!dir)
		return;
	descriptor_cloexec(dirfd(dir), true);
	if (c->thread && c->object)
		handle_put(&directories, 0, (uintptr_t)dir, c->object);
}

void posix_directory_closing(DIR *dir)
{
	if (!dir)
		return;
	handle_take(&directories, 0, (uintptr_t)dir);
	descriptor_close(dirfd(dir));
}
