/* Small text functions that need neither locale nor malloc. */
#include "core/text.h"

#include <string.h>

/* `[a-z]`, `[!a-z]` at *pattern; moves it past the bracket. An unclosed bracket is a plain character. */
static bool bracket_match(const char **pattern, const char *end, char c)
{
	const char *p = *pattern + 1;
	bool negated = p < end && (*p == '!' || *p == '^'), listed = false, first = true;

	if (negated)
		p++;
	for (; p < end && (first || *p != ']'); p++, first = false) {
		if (p + 2 < end && p[1] == '-' && p[2] != ']') {
			listed |= p[0] <= c && c <= p[2];
			p += 2;
		} else {
			listed |= *p == c;
		}
	}
	if (p >= end) {
		*pattern += 1;
		return c == '[';
	}
	*pattern = p + 1;
	return listed != negated;
}

/* Shell globs over whole paths: `*` matches any characters, slashes too. */
bool glob_match(const char *pattern, size_t length, const char *text)
{
	const char *p = pattern, *end = pattern + length, *star = NULL, *from = NULL;

	while (*text) {
		const char *next = p;

		if (p < end && *p == '*') {
			star = ++p;
			from = text;
			continue;
		}
		if (p < end && (*p == '?' || (*p != '[' && *p == *text))) {
			p++;
			text++;
			continue;
		}
		if (p < end && *p == '[' && bracket_match(&next, end, *text)) {
			p = next;
			text++;
			continue;
		}
		if (!star)
			return false;
		p = star;
		text = ++from;
	}
	while (p < end && *p == '*')
		p++;
	return p == end;
}

/* A number too large for it is the largest. */
static uint64_t digits(const char **at)
{
	uint64_t value = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++)
		value = value < UINT32_MAX ? value * 10 + (uint64_t)(**at - '0') : UINT64_MAX;
	return value;
}

bool range_has(const char *range, uint32_t number)
{
	const char *at = range + strspn(range, " ");
	uint64_t first, last, step = 1;

	if (*at < '0' || *at > '9')
		return false;
	first = last = digits(&at);
	if (*at == '-' && at++)
		last = digits(&at);
	if (*at == ':' && at++)
		step = digits(&at);
	return first <= number && number <= last && (number - first) % (step ? step : 1) == 0;
}

size_t text_copy(char *out, size_t size, const char *text)
{
	size_t length = strnlen(text, size - 1);

	memcpy(out, text, length);
	out[length] = '\0';
	return length;
}

/* FNV-1a, 64 bits. */
uint64_t text_hash(const char *text, uint64_t seed)
{
	uint64_t hash = 0xcbf29ce484222325u ^ seed;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
	return hash;
}

void text_hex(char *out, uint64_t value)
{
	for (int i = 15; i >= 0; i--, value >>= 4)
		out[i] = "0123456789abcdef"[value & 15];
	out[16] = '\0';
}

uint64_t text_number(const char **at)
{
	uint64_t value = 0;

	*at += strspn(*at, " ");
	for (; **at >= '0' && **at <= '9'; (*at)++)
		value = value * 10 + (uint64_t)(**at - '0');
	return value;
}

void text_decimal(char *out, uint64_t value)
{
	char text[24];
	int n = 0;

	do
		text[n++] = (char)('0' + value % 10);
	while (value /= 10);
	while (n)
		*out++ = text[--n];
	*out = '\0';
}
