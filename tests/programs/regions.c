/* Regions of fathom.h: nested, with numbers and a named object, in threads, left by a jump, ended by the
 * outer's end, never ended. regions FILE */
#include <fathom.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>

#include "must.h"

static int file;
static jmp_buf back;

static void put(int at)
{
	MUST(pwrite(file, "12345678", 8, 8 * at) == 8);
}

/* The region outlives the function that begins it. */
static void begin_in_a_function(const char *name)
{
	volatile char deeper[512] = {0};

	fathom_begin(name);
	(void)deeper;
}

static void nested(void)
{
	begin_in_a_function("checkpoint");
	for (int step = 1; step <= 3; step++) {
		fathom_begin_int("step", "number", step);
		put(step);
		fathom_end("step");
	}
	fathom_end("checkpoint");
}

static void with_everything(void)
{
	const struct fathom_with with = {"temperature", 3, {"level", "bytes", "a-b"}, {7, 8, -1}};

	fathom_begin_with("put", &with);
	put(4);
	fathom_mark_int("half", "percent", 50);
	fathom_end(NULL);
	fathom_begin_on("put", "pressure");
	fathom_end("put");
}

static void *in_a_thread(void *number)
{
	fathom_begin_int("thread", "number", *(int *)number);
	put(10 + *(int *)number);
	fathom_end("thread");
	return NULL;
}

static void in_threads(void)
{
	pthread_t thread[2];
	int number[2] = {0, 1};

	fathom_begin("threads");
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&thread[i], NULL, in_a_thread, &number[i]) == 0);
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	fathom_end("threads");
}

static void wrong(void)
{
	fathom_end("never begun");
	fathom_begin("outer");
	fathom_begin("left by a jump");
	if (setjmp(back) == 0)
		longjmp(back, 1);
	put(20);
	fathom_end("outer");
	put(21); /* in no region */
	fathom_call_origin(1, 2);
}

int main(int argc, char **argv)
{
	(void)argc;
	file = open(argv[1], O_CREAT | O_RDWR | O_TRUNC, 0644);
	MUST(file >= 0);
	nested();
	with_everything();
	in_threads();
	wrong();
	fathom_begin("never ended");
	put(30);
	puts("done");
	return 0;
}
