/* The settings that processes read: docs/settings.md, "What processes read". Shared by this folder. */
#ifndef FATHOM_SETTINGS_H
#define FATHOM_SETTINGS_H

#include "tune/knobs.h"
#include "tune/tune.h"

struct setting {
	const struct knob *knob; /* NULL: a hint */
	const char *key, *value; /* of a hint; the name and the text of a knob's values */
	uint16_t rule;
	uint16_t first, n; /* of the values */
};

/* Is there a next setting behind `*at` for this file (absolute path), and dataset if it is not NULL? A hint: list
 * is -1. *at begins at 0. */
const struct setting *setting_next(uint32_t *at, int list, const char *file, const char *dataset);
const union knob_value *setting_values(const struct setting *s);
uint16_t setting_number(const struct setting *s);
const struct setting *setting_at(uint16_t number);
/* Remembers what became of a setting; why it was left as it was: `left`. */
void tuned_tell(struct tuned *t, const struct setting *s, const char *left);
void tuned_start(struct tuned *t);

#endif
