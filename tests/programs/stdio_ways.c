/* Each way to open, read, write and close a stream, once, with errors.
 *	stdio_ways DIRECTORY */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "must.h"

static char path[4096];

static const char *in(const char *directory, const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static int say(FILE *stream, const char *format, ...)
{
	va_list list;
	int done;

	va_start(list, format);
	done = vfprintf(stream, format, list);
	va_end(list);
	return done;
}

static void text(const char *directory)
{
	char word[20], line[40];
	double number;
	FILE *f = fopen(in(directory, "text"), "w+");

	MUST(f && setvbuf(f, NULL, _IOFBF, 512) == 0);
	MUST(say(f, "%d %s %.1f %Lg %c %s\n", 5, "six", 7.5, 8.25L, '9', "ten") == 21);
	MUST(fprintf(f, "%1$s%3$s%2$s\n", "a", "c", "b") == 4);
	rewind(f);
	MUST(fscanf(f, "%lf %19s", &number, word) == 2 && number == 5 && !strcmp(word, "six"));
	MUST(fgets(line, sizeof(line), f) && fgets(line, sizeof(line), f) &&
	     !strcmp(line, "abc\n"));
	MUST(!fgets(line, sizeof(line), f) && feof(f) && !ferror(f));
	MUST(fclose(f) == 0);
}

static void modes(const char *directory)
{
	char items[40];
	FILE *f = fopen(in(directory, "modes"), "wx");
	int fd;

	MUST(f && fwrite("0123456789", 1, 10, f) == 10);
	MUST(!fopen(path, "wx") && errno == EEXIST);
	MUST((f = freopen(path, "a", f)) && fwrite("ab", 1, 2, f) == 2 && fflush(f) == 0);
	MUST((f = freopen(path, "r", f)) &&
	     fread(items, 8, 5, f) == 1); /* 12 bytes: one item and a half */
	MUST(fclose(f) == 0);
	MUST((fd = open(path, O_RDWR)) >= 0 && lseek(fd, 4, SEEK_SET) == 4);
	MUST((f = fdopen(fd, "r+")) && fread(items, 1, 3, f) == 3 && !memcmp(items, "456", 3));
	MUST(fwrite("x", 1, 1, f) == 0 || fflush(f) == 0);
	MUST(fclose(f) == 0);
	MUST((f = tmpfile()) && fputs("gone", f) >= 0 && fclose(f) == 0);
	MUST(!fopen("/absent/file", "r") && errno == ENOENT);
}

static void fails(const char *directory)
{
	const struct rlimit small = {100, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
	char bytes[50] = "";
	FILE *f = fopen(in(directory, "fails"), "w");

	MUST(f && fread(bytes, 1, 5, f) == 0 && ferror(f) && errno == EBADF);
	clearerr(f);
	MUST(setvbuf(f, NULL, _IONBF, 0) == 0 && setrlimit(RLIMIT_FSIZE, &small) == 0);
	MUST(fwrite(bytes, 1, 50, f) == 50 && fwrite(bytes, 1, 50, f) == 50);
	MUST(fwrite(bytes, 1, 50, f) == 0 && errno == EFBIG);
	MUST(setrlimit(RLIMIT_FSIZE, &none) == 0 && fclose(f) == 0);
}

static void no_files(const char *directory)
{
	char *memory, line[10];
	size_t size;
	FILE *f = open_memstream(&memory, &size);

	(void)directory;
	MUST(f && fputs("in memory", f) >= 0 && fclose(f) == 0 && size == 9);
	free(memory);
	MUST((f = fmemopen("abc", 3, "r")) && getc(f) == 'a' && fclose(f) == 0);
	MUST((f = popen("echo piped", "r")) && fgets(line, sizeof(line), f) && pclose(f) == 0);
	MUST(dprintf(1, "%s %d\n", "descriptor", 1) == 13);
}

int main(int count, char **words)
{
	signal(SIGXFSZ, SIG_IGN);
	MUST(count > 1);
	printf("%s %s\n", "on the", "way");
	text(words[1]);
	modes(words[1]);
	fails(words[1]);
	no_files(words[1]);
	puts("done");
	return 0;
}
