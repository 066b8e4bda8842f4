/* The known word that is most like one that is not known. */
#include "command.h"

#include <string.h>

enum { LONGEST_WORD = 63 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Letters to put in, take out, replace, or swap with the next one until a is b (optimal string alignment). */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[3][LONGEST_WORD + 1], *before = row[0], *last = row[1], *now = row[2];
	const size_t m = strlen(a), n = strlen(b);

	if (m > LONGEST_WORD || n > LONGEST_WORD)
		return LONGEST_WORD;
	for (size_t j = 0; j <= n; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= m; i++) {
		unsigned *unused = before;

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= n; j++) {
			now[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]),
				       1 + least(last[j], now[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
		before = last;
		last = now;
		now = unused;
	}
	return last[n];
}

const char *nearest_text(const char *word, const char *const *known, size_t count)
{
	const char *like = NULL;
	unsigned fewest = (unsigned)(strlen(word) + 2) / 3 + 1; /* a third of its letters */

	for (size_t i = 0; i < count; i++) {
		const unsigned letters = distance(word, known[i]);

		if (letters < fewest) {
			fewest = letters;
			like = known[i];
		}
	}
	return like ? format_text("is it '%s'? ", like) : "";
}
