/* What a check came to: parts, joined by commas. */
#ifndef OUTCOME_H
#define OUTCOME_H

enum { LONGEST = 400 };

extern char *outcome; /* of LONGEST bytes, where the program has them */

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
