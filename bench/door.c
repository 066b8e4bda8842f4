/* libdoor.so: brings libfathom.so into its own process as `fathom attach` does, where valgrind can count: by dlopen,
 * and by the entry point of its ELF header. DOOR_LIBRARY names it, DOOR_SETTINGS a file of what it is told. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROOM, ATTACH, ROOM_BYTES = 65536 };
enum { DONE, LEFT_OUT = 2 }; /* a shell is left out: valgrind is a script */

static void fail(const char *what)
{
	fprintf(stderr, "door: %s\n", what);
	exit(1);
}

__attribute__((constructor)) static void enter(void)
{
	const struct link_map *library = dlopen(getenv("DOOR_LIBRARY"), RTLD_NOW);
	const int fd = open(getenv("DOOR_SETTINGS"), O_RDONLY);
	const ElfW(Ehdr) * header;
	void (*door)(long, long *);
	long answer;

	if (!library || fd < 0)
		fail("no library, or no settings");
	header = (const void *)library->l_addr;
	door = (void (*)(long, long *))(library->l_addr + header->e_entry);
	door(ROOM, &answer);
	if (read(fd, (char *)answer, ROOM_BYTES - 1) <= 0)
		fail("no settings");
	door(ATTACH, &answer);
	if (answer != DONE && answer != LEFT_OUT)
		fail("not attached");
	close(fd);
}
