/* Globs against a recursive matcher, paths against a cleaner that works by components. */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "core/call.h"
#include "core/text.h"

/* ---- globs: made of tokens, matched token by token ---- */

static const char *const tokens[] = {"*",    "?",    "a",     "b",      "/",
				     "[ab]", "[!a]", "[a-c]", "[^b-c]", "[]a]"};

static bool token_match(const char *token, char c)
{
	switch (token[0]) {
	case '?':
		return true;
	case '[':
		return !strcmp(token, "[ab]")    ? c == 'a' || c == 'b'
		       : !strcmp(token, "[!a]")  ? c != 'a'
		       : !strcmp(token, "[a-c]") ? c >= 'a' && c <= 'c'
		       : !strcmp(token, "[]a]")  ? c == ']' || c == 'a'
						 : c != 'b' && c != 'c';
	}
	return token[0] == c;
}

static bool slow_match(const uint8_t *token, int n, const char *text)
{
	if (!n)
		return !*text;
	if (tokens[*token][0] == '*')
		return slow_match(token + 1, n - 1, text) ||
		       (*text && slow_match(token, n, text + 1));
	return *text && token_match(tokens[*token], *text) &&
	       slow_match(token + 1, n - 1, text + 1);
}

static void globs(void)
{
	uint64_t seed = 11;
	int matched = 0;

	for (int i = 0; i < 200000; i++) {
		uint8_t token[6];
		char pattern[64] = "", text[8] = "";
		int n = (int)random_below(&seed, 7), length = (int)random_below(&seed, 8);
		bool expected;

		for (int k = 0; k < n; k++) {
			token[k] = (uint8_t)random_below(&seed, 10);
			strcat(pattern, tokens[token[k]]);
		}
		for (int k = 0; k < length; k++)
			text[k] = "abcd/]"[random_below(&seed, 6)];
		expected = slow_match(token, n, text);
		matched += expected;
		CHECK(glob_match(pattern, strlen(pattern), text) == expected);
		strcat(pattern, ",not of it");
		CHECK(glob_match(pattern, strlen(pattern) - 10, text) == expected);
	}
	CHECK(matched > 1000);
	CHECK(glob_match("a[b", 3, "a[b")); /* an open bracket is itself */
	CHECK(!glob_match("", 0, "a") && glob_match("", 0, ""));
}

/* ---- paths ---- */

static void slow_clean(char *out, const char *path)
{
	char copy[256], *rest = copy;
	size_t length = strlen(path);
	bool slash = length && path[length - 1] == '/';

	snprintf(copy, sizeof(copy), "%s", path);
	*out = '\0';
	for (char *part; (part = strsep(&rest, "/"));)
		if (*part && strcmp(part, "."))
			strcat(strcat(out, "/"), part);
	if (slash || !*out)
		strcat(out, "/");
}

static void clean_paths(void)
{
	uint64_t seed = 12;

	for (int i = 0; i < 100000; i++) {
		char path[32] = "/", expected[300], out[PATH_MAX];
		int n = (int)random_below(&seed, 12);

		for (int k = 0; k < n; k++)
			path[k + 1] = "/.a/."[random_below(&seed, 5)];
		slow_clean(expected, path);
		CHECK(strcmp(path_absolute(out, sizeof(out), AT_FDCWD, path), expected) == 0);
	}
}

static void relative_paths(void)
{
	char out[PATH_MAX], small[8], longest[2 * PATH_MAX];
	int fd = open("/usr", O_RDONLY | O_DIRECTORY);

	CHECK(fd >= 0 && chdir("/") == 0);
	path_chdir();
	CHECK(!strcmp(path_absolute(out, sizeof(out), AT_FDCWD, "a/./b"), "/a/b"));
	CHECK(chdir("/usr") == 0);
	path_chdir();
	CHECK(!strcmp(path_absolute(out, sizeof(out), AT_FDCWD, "../x"), "/usr/../x"));
	CHECK(!strcmp(path_absolute(out, sizeof(out), AT_FDCWD, "/x"), "/x"));
	CHECK(!strcmp(path_absolute(out, sizeof(out), fd, "lib"), "/usr/lib"));
	CHECK(!strcmp(path_absolute(out, sizeof(out), fd, ""), "/usr"));
	close(fd);
	CHECK(!strcmp(path_absolute(out, sizeof(out), fd, "lib"), "?/lib")); /* not open */
	CHECK(!strcmp(path_absolute(out, sizeof(out), fd, ""), ""));
	CHECK(!strcmp(path_absolute(small, sizeof(small), AT_FDCWD, "/0123456789"), "/012345"));
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	path_absolute(out, sizeof(out), AT_FDCWD, longest);
	CHECK(strlen(out) == sizeof(out) - 1 && !strncmp(out, "/usr/xxx", 8));
}

static void ranges(void)
{
	CHECK(range_has("7", 7) && range_has("7,9", 7) && range_has(" 7\n", 7));
	CHECK(!range_has("7", 6) && !range_has("7", 8) && !range_has("6,7", 7));
	CHECK(range_has("3-5", 3) && range_has("3-5", 5) && !range_has("3-5", 6));
	CHECK(range_has("1-9:4", 5) && !range_has("1-9:4", 6) && range_has("1-9:0", 6));
	CHECK(range_has("0-99999999999999999999999", UINT32_MAX) && !range_has("5-3", 4));
	CHECK(!range_has("", 0) && !range_has("x", 0) && !range_has("-3", 0));
}

int main(void)
{
	globs();
	ranges();
	relative_paths(); /* first: the current directory is asked for */
	clean_paths();
	return 0;
}
