/* HOST:PORT, or [HOST]:PORT for addresses with colons. */
#ifndef FWD_HOST_H
#define FWD_HOST_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

static inline int split_host(const char *from, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(from, ':');
	size_t length;

	if (!colon || colon == from || !colon[1])
		return EINVAL;
	length = (size_t)(colon - from);
	if (*from == '[' && from[length - 1] == ']') {
		from++;
		length -= 2;
	}
	if (length >= size)
		return EINVAL;
	memcpy(host, from, length);
	host[length] = 0;
	*port = colon + 1;
	return 0;
}

#endif
