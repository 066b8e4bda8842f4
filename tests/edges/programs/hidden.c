#include <stdio.h>

int hidden_put(void);

int hidden_put(void)
{
	printf("hidden_put of %s\n", NAME);
	fflush(stdout);
	return 0;
}
