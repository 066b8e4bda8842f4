/* What a program says of its own accesses: one line of text each, in a file per rank, in the order they were made.
 * The columns are those that a test's SQL reads: rank, line, op, variable, bytes, start, total, blocks. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *account;
static int rank, ranks;

static void account_open(const char *folder)
{
	char name[4096];

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	snprintf(name, sizeof(name), "%s/account.%d", folder, rank);
	account = fopen(name, "w");
	if (!account) {
		perror(name);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* `start`: row-major index of the first element; `blocks`: "start+count,… start+count,…" in elements of each
 * dimension, counted from the first corner; "" when all of the variable is meant. */
static void say(const char *op, const char *variable, long bytes, long start, long total,
		const char *blocks, ...)
{
	static int line;
	va_list list;

	fprintf(account, "%d;%d;%s;%s;%ld;%ld;%ld;", rank, line++, op, variable, bytes, start,
		total);
	va_start(list, blocks);
	vfprintf(account, blocks, list);
	va_end(list);
	fputc('\n', account);
}

#define MUST(call)                                                                                 \
	do {                                                                                       \
		const int error_ = (call);                                                         \
		if (error_) {                                                                      \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, error_);     \
			MPI_Abort(MPI_COMM_WORLD, 1);                                              \
		}                                                                                  \
	} while (0)

#define MUST_FAIL(call, with)                                                                      \
	do {                                                                                       \
		const int error_ = (call);                                                         \
		if (error_ != (with)) {                                                            \
			fprintf(stderr, "%s:%d: %s: %d, not %d\n", __FILE__, __LINE__, #call,      \
				error_, with);                                                     \
			MPI_Abort(MPI_COMM_WORLD, 1);                                              \
		}                                                                                  \
	} while (0)

#endif
