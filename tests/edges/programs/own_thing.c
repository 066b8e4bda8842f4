/* A program with a thing_put of its own in the global scope; plugins opened later see it first,
 * unless they are opened with RTLD_DEEPBIND. */
#include <stdio.h>

int thing_put(int n);

int thing_put(int n)
{
	printf("thing_put(%d) of the program\n", n);
	return n;
}

#define main open_plugins
#include "open_plugins.c"
#undef main

int main(int argc, char **argv)
{
	return open_plugins(argc, argv);
}
