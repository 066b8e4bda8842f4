/* Streams of C: buffers, text, flushes (mistakes.h). */
#include "mistakes.h"

static void by_stream(const char *path)
{
	FILE *stream = fopen(path, "w");

	MUST(stream);
	for (int i = 0; i < 4; i++)
		MUST(fwrite(data, PIECE, 1, stream) == 1);
	for (int i = 0; i < 4 * KIB; i++)
		MUST(fwrite(data, 512, 1, stream) == 1);
	MUST(fclose(stream) == 0);
}

static void by_large_stream(const char *path)
{
	FILE *stream = fopen(path, "w");

	MUST(stream);
	for (int i = 0; i < 12; i++)
		MUST(fwrite(data, PIECE, 1, stream) == 1);
	MUST(fclose(stream) == 0);
}

/* Text of numbers: buffered how? A buffer has a MiB. */
static void text(const char *path, int mode, char *buffer)
{
	FILE *stream = fopen(path, "w");

	MUST(stream && setvbuf(stream, buffer, mode, buffer ? MIB : 0) == 0);
	for (int i = 0; i < 16; i++)
		MUST(fwrite(data, PIECE, 1, stream) == 1);
	for (int i = 0; i < 80 * KIB; i++)
		MUST(fprintf(stream, "%.17g\n", i / 7.0) > 0);
	MUST(fclose(stream) == 0);
}

static void by_text(const char *path)
{
	text(path, _IOFBF, NULL);
}

static void by_buffered_text(const char *path)
{
	static char buffer[MIB];

	text(path, _IOFBF, buffer);
}

static void by_unbuffered_text(const char *path)
{
	text(path, _IONBF, NULL);
}

/* A million numbers, one by one as text, or all as they are in memory. */
static void numbers(const char *path, bool as_text)
{
	static double values[MIB];
	FILE *stream = fopen(path, "w");

	MUST(stream);
	for (int i = 0; i < MIB; i++)
		values[i] = i / 7.0;
	if (as_text)
		for (int i = 0; i < MIB; i++)
			MUST(fprintf(stream, "%.17g\n", values[i]) > 0);
	else
		MUST(fwrite(values, sizeof(values), 1, stream) == 1);
	MUST(fclose(stream) == 0);
}

static void numbers_as_text(const char *path)
{
	numbers(path, true);
}

static void numbers_in_binary(const char *path)
{
	numbers(path, false);
}

/* Lines of 20 bytes, flushed one by one, or all at the end. */
static void flushed(const char *path, bool each)
{
	FILE *stream = fopen(path, "w");

	MUST(stream);
	for (int i = 0; i < 10000; i++) {
		MUST(fwrite(data, 20, 1, stream) == 1);
		MUST(!each || fflush(stream) == 0);
	}
	MUST(fflush(stream) == 0 && fclose(stream) == 0);
}

static void flushed_lines(const char *path)
{
	flushed(path, true);
}

static void flushed_once(const char *path)
{
	flushed(path, false);
}

static const struct work works[] = {
	{"by-stream", by_stream},
	{"by-large-stream", by_large_stream},
	{"numbers-as-text", numbers_as_text},
	{"numbers-in-binary", numbers_in_binary},
	{"by-text", by_text},
	{"by-buffered-text", by_buffered_text},
	{"by-unbuffered-text", by_unbuffered_text},
	{"flushed-lines", flushed_lines},
	{"flushed-once", flushed_once},
};

int main(int argc, char **argv)
{
	return work(works, sizeof(works) / sizeof(*works), argc, argv);
}
