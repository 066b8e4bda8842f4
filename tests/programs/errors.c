/* Calls that fail, each with the errno that POSIX gives it; errno must reach the program untouched. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "must.h"

static void fails(const char *what, long result, int expected)
{
	int seen = errno;

	printf("%s %ld %d\n", what, result, seen);
	if (result != -1 || seen != expected)
		exit(1);
	errno = 0;
}

int main(int argc, char **argv)
{
	struct stat s;
	void *volatile nowhere = (void *)1;
	char byte = 0;
	int ends[2];

	MUST(argc == 2);
	MUST(chdir(argv[1]) == 0);
	int fd = open("read-only", O_RDONLY | O_CREAT, 0444);
	MUST(fd >= 0 && pipe(ends) == 0);
	fails("open", open("absent", O_RDONLY), ENOENT);
	fails("open exclusive", open("read-only", O_WRONLY | O_CREAT | O_EXCL, 0644), EEXIST);
	fails("open directory", open(".", O_WRONLY), EISDIR);
	fails("read bad descriptor", read(-1, &byte, 1), EBADF);
	fails("read closed descriptor", read(900, &byte, 1), EBADF);
	fails("write read-only", write(fd, &byte, 1), EBADF);
	fails("pwrite read-only", pwrite(fd, &byte, 1, 7), EBADF);
	fails("pwrite pipe", pwrite(ends[1], &byte, 1, 7), ESPIPE);
	fails("pread negative", pread(fd, &byte, 1, -1), EINVAL);
	MUST(write(ends[1], &byte, 1) == 1);
	fails("read bad address", read(ends[0], nowhere, 1), EFAULT);
	fails("lseek pipe", lseek(ends[0], 0, SEEK_CUR), ESPIPE);
	fails("lseek whence", lseek(fd, 0, 77), EINVAL);
	fails("ftruncate read-only", ftruncate(fd, 10), EINVAL);
	fails("stat absent", stat("absent", &s), ENOENT);
	fails("fstat bad descriptor", fstat(900, &s), EBADF);
	fails("stat below a file", stat("read-only/x", &s), ENOTDIR);
	fails("mkdir existing", mkdir(".", 0755), EEXIST);
	fails("rmdir absent", rmdir("absent"), ENOENT);
	fails("unlink absent", unlink("absent"), ENOENT);
	fails("rename absent", rename("absent", "other"), ENOENT);
	fails("access absent", access("absent", R_OK), ENOENT);
	fails("dup bad descriptor", dup(-1), EBADF);
	fails("fsync pipe", fsync(ends[1]), EINVAL);
	fails("close bad descriptor", close(-1), EBADF);
	fails("mmap bad descriptor",
	      mmap(NULL, 4096, PROT_READ, MAP_SHARED, -1, 0) == MAP_FAILED ? -1 : 0, EBADF);
	return 0;
}
