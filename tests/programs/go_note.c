/* Has the note that Go's linker puts into each program, and writes by a call of libc.
 *	go_note FILE */
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "must.h"

__attribute__((section(".note.go.buildid"), used, aligned(4))) static const struct {
	uint32_t name_bytes, bytes, type;
	char name[4], id[4];
} note = {4, 4, 4, "Go", "abc"};

int main(int count, char **words)
{
	int fd;

	MUST(count == 2 && (fd = open(words[1], O_WRONLY | O_CREAT | O_TRUNC, 0666)) >= 0);
	MUST(write(fd, "hello", 5) == 5);
	return 0;
}
