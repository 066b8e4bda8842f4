/* A library whose function says which copy of it was called. Built several times with its own NAME. */
#include <stdio.h>
#include <unistd.h>

int thing_put(int n);
void *thing_write(void);

int thing_put(int n)
{
	printf("thing_put(%d) of %s\n", n, NAME);
	fflush(stdout);
	return n;
}

/* The address of write as this library knows it. */
void *thing_write(void)
{
	return (void *)write;
}
