/* killed DIRECTORY CHILDREN SEED: forks children that write and count what they did in shared
 * memory, and kills each with SIGKILL at a random moment. Prints a line per child:
 * pid, calls known to be finished. Child call k is pwrite of 8 bytes at offset 8 * k. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

enum { LAST = 2000000 }; /* nobody gets this far */

static _Noreturn void child(const char *directory, _Atomic uint64_t *finished)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s/%d", directory, (int)getpid());
	int fd = open(name, O_RDWR | O_CREAT, 0644);
	MUST(fd >= 0);
	for (uint64_t k = 0; k < LAST; k++) {
		MUST(pwrite(fd, &k, 8, (off_t)(8 * k)) == 8);
		atomic_store(finished, k + 1);
	}
	_exit(1);
}

int main(int argc, char **argv)
{
	MUST(argc == 4);
	_Atomic uint64_t *finished =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(finished != MAP_FAILED);
	srand((unsigned)atoi(argv[3]));
	for (int i = 0; i < atoi(argv[2]); i++) {
		int status;
		atomic_store(finished, 0);
		pid_t pid = fork();
		if (!pid)
			child(argv[1], finished);
		usleep((useconds_t)(rand() % 30000));
		MUST(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
		MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		printf("%d %llu\n", (int)pid, (unsigned long long)atomic_load(finished));
	}
	return 0;
}
