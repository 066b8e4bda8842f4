#include <stdlib.h>
#include <unistd.h>

void live(void);

static void handler(void)
{
	write(1, "handler\n", 8);
}

int main(void)
{
	atexit(handler);
	live();
	return 0;
}
