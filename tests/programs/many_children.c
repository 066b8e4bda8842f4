/* many_children FILE N: N children, one after the other, each of which writes its number: N streams. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);

	MUST(fd >= 0);
	for (long i = 0; i < n; i++) {
		int status;
		pid_t child = fork();

		MUST(child >= 0);
		if (child == 0)
			exit(pwrite(fd, &i, sizeof(i), i * (long)sizeof(i)) != sizeof(i));
		MUST(waitpid(child, &status, 0) == child && status == 0);
	}
	return 0;
}
