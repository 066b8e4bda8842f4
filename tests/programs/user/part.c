/* Another user of fathom.h beside plus.cc: a file of the program, or (A_LIBRARY) a library. */
#include <fathom.h>
#include <stdio.h>
#include <unistd.h>

void in_library(int file);
void other_file(int file);

static void put(const char *region, int file, int at)
{
	fathom_begin(region);
	if (pwrite(file, "12345678", 8, at) != 8)
		perror("pwrite");
	fathom_end(region);
}

#ifdef A_LIBRARY
void in_library(int file)
{
	put("in a library", file, 24);
}
#else
void other_file(int file)
{
	put("other file", file, 16);
}
#endif
