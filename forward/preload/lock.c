/* Locks. Who reaches a server by its Unix socket is on its node, so the node's kernel can keep them: on a file of this
 * user's in memory that stands for the forwarded one. It releases them when a process dies. */
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skin.h"

static bool same_node(void)
{
	return !strncmp(settings()->address, "unix:", 5);
}

bool own_directory(char *path)
{
	struct stat about;

	snprintf(path, OWN_NAME, "/dev/shm/fathom-forward-%u", (unsigned)geteuid());
	if (next_mkdir(path, 0700) && errno != EEXIST)
		return false;
	return !next_lstat(path, &about) && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
	       !(about.st_mode & 077);
}

static int open_lock(const struct fathom_fwd_handle *handle)
{
	char path[OWN_NAME];
	size_t length;

	if (!own_directory(path)) {
		errno = ENOLCK;
		return -1;
	}
	length = strlen(path);
	path[length++] = '/';
	for (size_t i = 0; i < sizeof(handle->bytes); i++)
		length += (size_t)snprintf(path + length, OWN_NAME - length, "%02x",
					   handle->bytes[i]);
	return next_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* The descriptor that this open file's locks are on; -1 and errno. */
static int lock_of(struct file *f)
{
	int made, none = 0;

	if (atomic_load(&f->lock))
		return atomic_load(&f->lock);
	made = open_lock(&f->shared->handle);
	if (made < 0)
		return -1;
	made = file_private(made);
	if (atomic_compare_exchange_strong(&f->lock, &none, made))
		return made;
	file_set(made, NULL);
	next_close(made);
	return none;
}

/* What libc's lock is relative to, only we know. */
static int from_start(struct file *f, const struct flock *asked, struct flock *lock)
{
	struct fathom_fwd_attr attr;

	*lock = *asked;
	if (asked->l_whence == SEEK_CUR)
		lock->l_start += f->shared->position;
	if (asked->l_whence == SEEK_END && attributes(f, &attr))
		return -1;
	if (asked->l_whence == SEEK_END)
		lock->l_start += (off_t)attr.size;
	lock->l_whence = SEEK_SET;
	return 0;
}

static bool may_lock(const struct file *f, short type)
{
	int access = f->shared->flags & O_ACCMODE;

	return type == F_UNLCK || access == O_RDWR ||
	       access == (type == F_WRLCK ? O_WRONLY : O_RDONLY);
}

/* F_SETLK and its kin: of the process, or of the open file (OFD). */
int lock_range(struct file *f, int cmd, struct flock *asked)
{
	bool of_file = cmd == F_OFD_SETLK || cmd == F_OFD_SETLKW || cmd == F_OFD_GETLK;
	struct flock lock;
	int fd, done;

	if (!same_node() || (of_file && f->inherited))
		return skin_refuse("a lock (fcntl)", true);
	if (cmd != F_GETLK && cmd != F_OFD_GETLK && !may_lock(f, asked->l_type)) {
		errno = EBADF;
		return -1;
	}
	fd = lock_of(f);
	if (fd < 0 || from_start(f, asked, &lock))
		return -1;
	done = next_fcntl(fd, cmd, (uintptr_t)&lock);
	if (!done && (cmd == F_GETLK || cmd == F_OFD_GETLK)) {
		if (lock.l_type == F_UNLCK)
			asked->l_type = F_UNLCK;
		else
			*asked = lock;
	}
	return done;
}

/* By the rules of POSIX the process's locks end when it closes any of the file's descriptors. */
void lock_closed(struct file *f)
{
	struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
	int before = errno;

	if (atomic_load(&f->lock))
		next_fcntl(atomic_load(&f->lock), F_SETLK, (uintptr_t)&all);
	errno = before;
}

int forward_flock(struct file *f, int operation)
{
	int fd;

	if (!same_node() || f->inherited)
		return skin_refuse("a lock (flock)", true);
	fd = lock_of(f);
	return fd < 0 ? -1 : next_flock(fd, operation);
}

int forward_lockf(struct file *f, int operation, off_t length)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = length};

	switch (operation) {
	case F_ULOCK:
		lock.l_type = F_UNLCK;
		return lock_range(f, F_SETLK, &lock);
	case F_LOCK:
		return lock_range(f, F_SETLKW, &lock);
	case F_TLOCK:
		return lock_range(f, F_SETLK, &lock);
	case F_TEST:
		if (lock_range(f, F_GETLK, &lock))
			return -1;
		if (lock.l_type == F_UNLCK)
			return 0;
		errno = EACCES;
		return -1;
	default:
		errno = EINVAL;
		return -1;
	}
}
