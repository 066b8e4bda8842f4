#include "outcome.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *outcome;

void say(const char *format, ...)
{
	size_t length = strlen(outcome);
	va_list words;

	if (length)
		length += (size_t)snprintf(outcome + length, LONGEST - length, ", ");
	va_start(words, format);
	vsnprintf(outcome + length, LONGEST - length, format, words);
	va_end(words);
}
