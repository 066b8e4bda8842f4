/* One write through each kind of slot a compiler makes. */
#include <stdio.h>
#include <unistd.h>

void *thing_write(void);

static ssize_t (*table[])(int, const void *, size_t) = {write, write};

int main(int argc, char **argv)
{
	ssize_t (*volatile pointer)(int, const void *, size_t) = write;

	(void)argv;
	write(1, "direct\n", 7);
	table[argc - 1](1, "table\n", 6);
	pointer(1, "pointer\n", 8);
	printf("same address in program and library: %d, in table: %d\n",
	       thing_write() == (void *)write, (void *)table[1] == (void *)pointer);
	return 0;
}
