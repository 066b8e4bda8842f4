/* A preload tool that wraps printf, and no form of it that takes a va_list. */
#include <stdarg.h>
#include <stdio.h>

int printf(const char *format, ...)
{
	va_list list;
	int done;

	va_start(list, format);
	fputs("tool: ", stdout);
	done = vprintf(format, list);
	va_end(list);
	return done;
}
