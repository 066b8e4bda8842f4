/* What libc would do with locale or malloc. */
#ifndef FATHOM_TEXT_H
#define FATHOM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool glob_match(const char *pattern, size_t length, const char *text);
/* `N`, `N-M` or `N-M:STEP`; what follows is not read. */
bool range_has(const char *range, uint32_t number);
size_t text_copy(char *out, size_t size,
		 const char *text); /* always terminated; returns length kept */
uint64_t text_hash(const char *text, uint64_t seed);
void text_hex(char *out, uint64_t value); /* 16 digits */
void text_decimal(char *out, uint64_t value);
/* The one behind spaces, and `at` behind it; 0: there is none. */
uint64_t text_number(const char **at);

#endif
