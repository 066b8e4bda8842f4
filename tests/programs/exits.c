/* Writes 100 times 8 bytes, then ends past libc's exit, as Go does, with status 4.
 *	exits group|thread|child FILE	by exit_group; by exit of the only thread; a child of it does, and it returns 3 */
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

static void write_some(const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	MUST(fd >= 0);
	for (int i = 0; i < 100; i++)
		MUST(write(fd, "12345678", 8) == 8);
}

int main(int count, char **words)
{
	MUST(count == 3);
	if (!strcmp(words[1], "child") && fork() > 0)
		return wait(NULL) > 0 ? 3 : 99;
	write_some(words[2]);
	usleep(500000); /* so that a watcher comes to see it */
	syscall(!strcmp(words[1], "thread") ? SYS_exit : SYS_exit_group, 4);
	return 99;
}
