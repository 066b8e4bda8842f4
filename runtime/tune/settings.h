/* The settings that processes read: docs/settings.md, "What processes read". Shared by this folder. */
#ifndef FATHOM_SETTINGS_H
#define FATHOM_SETTINGS_H

#include "tune/knobs.h"
#include "tune/tune.h"

/* What settings hold for. A rule's lines of globs stand together in the text. */
struct rule {
	const char *files, *files_end; /* NULL: all files */
	const char *dataset;           /* NULL: all, and the file itself */
};

struct setting {
	const struct knob *knob; /* NULL: a hint */
	const char *key, *value; /* of a hint; the name and the text of a knob's values */
	const struct rule *rule;
	const union knob_value *values;
	uint16_t n, number;
	bool anew; /* a hint: a file that is open may be given it, whatever it has */
};

/* What one text sets. Whoever has it says how much of each there may be. */
struct table {
	struct rule *rule;
	struct setting *setting;
	union knob_value *value;
	uint32_t rules_most, settings_most, values_most;
	uint32_t rules, settings, values;
	uint16_t first; /* number of the first setting */
};

enum {
	SETTINGS = 1024, /* that a run begins with */
	LIVE_SLOTS = 16, /* texts that came later, and are kept at once */
	LIVE_SETTINGS = 64,
};

extern struct table settings; /* that the run began with */
extern bool settings_live;    /* others may come while it runs; written once, at the start */

/* Reads a text into an empty table, and writes zeros into it; it has to stay. False: it is none. */
bool settings_read(struct table *t, char *text);
/* Is there a next setting behind `*at` for this file (absolute path), and dataset if it is not NULL? A hint: list
 * is -1. *at begins at 0. */
const struct setting *setting_next(const struct table *t, uint32_t *at, int list, const char *file,
				   const char *dataset);
const struct setting *setting_at(uint16_t number);
/* Remembers what became of a setting; why it was left as it was: `left`. */
void tuned_tell(struct tuned *t, const struct setting *s, const char *left);
void tuned_start(struct tuned *t);
const struct setting *live_setting(uint32_t number); /* behind the last of SETTINGS */

#endif
