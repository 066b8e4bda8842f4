/* A library that writes when it comes and when it goes. */
#include <unistd.h>

void live(void);

void live(void)
{
}

__attribute__((constructor)) static void come(void)
{
	write(1, "come\n", 5);
}

__attribute__((destructor)) static void go(void)
{
	write(1, "go\n", 3);
}
