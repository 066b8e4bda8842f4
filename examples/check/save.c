/* Writes a table of numbers through a buffer of 1 MiB. */
#include <stdio.h>

int main(int count, char **words)
{
	FILE *out = count > 1 ? fopen(words[1], "wb") : NULL;
	static double row[1 << 17];

	if (!out)
		return 1;
	for (int n = 0; n < 8; n++)
		if (fwrite(row, sizeof row, 1, out) != 1)
			return 1;
	return fclose(out) != 0;
}
