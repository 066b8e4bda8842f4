/* The Fortran trampoline passes every kind of argument and the result on, and says who called. */
#include <stdio.h>
#include <string.h>

#include "edges/edges.h"

struct big {
	long part[5];
};

void *edge_originals[2];
__thread struct entry_site entry_site;

/* Signatures chosen to use every argument register and the stack. */
typedef struct big many_function(const int *a, double b, long c, float d, char e, double f, long g,
				 long h, long i, long j, double k, double l, double m, double n,
				 double o, double p, struct big q);
typedef double vector_function(int count, ...);

many_function entry_many_0;

static struct {
	const void *expected; /* return address */
	struct entry_site site;
} seen;

static struct big many(const int *a, double b, long c, float d, char e, double f, long g, long h,
		       long i, long j, double k, double l, double m, double n, double o, double p,
		       struct big q)
{
	struct big result = {
		{*a, (long)(b + d + f + k + l + m + n + o + p), c + e + g + h, i * j, q.part[4]}};

	seen.expected = __builtin_return_address(0);
	seen.site = entry_site;
	return result;
}

static double sum(int count, ...)
{
	__builtin_va_list list;
	double total = 0;

	__builtin_va_start(list, count);
	for (int i = 0; i < count; i++)
		total += __builtin_va_arg(list, double);
	__builtin_va_end(list);
	return total;
}

static struct big call(many_function *function)
{
	int a = 1;
	struct big q = {{1, 2, 3, 4, 77}};

	return function(&a, 2.0, 3, 4.0f, 5, 6.0, 7, 8, 9, 10, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0,
			q);
}

int main(void)
{
	vector_function *volatile vector = (vector_function *)(void *)entry_many_0;
	struct big direct = call(many), through;
	int wrong = 0;

	edge_originals[1] = (void *)many;
	through = call(entry_many_0);
	wrong += memcmp(&direct, &through, sizeof(direct)) != 0;
	wrong += seen.site.address != seen.expected || strcmp(seen.site.name, "many_") != 0;
#if defined(__x86_64__)
	wrong += !seen.site.slot;
#endif
	/* A variadic call tells the number of vector registers in al. */
	edge_originals[1] = (void *)sum;
	wrong += vector(9, 1., 2., 3., 4., 5., 6., 7., 8., 9.) != 45;
	printf("%d wrong\n", wrong);
	return wrong;
}
