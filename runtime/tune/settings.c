/* The settings file, read once: rules, what they hold for, what they set. */
#include "tune/settings.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "core/raw.h"

enum { TEXT = 65536, RULES = 256, SETTINGS = 1024, VALUES = 4096 };

/* A rule's lines of globs stand together in the text. */
struct rule {
	const char *files, *files_end; /* NULL: all files */
	const char *dataset;           /* NULL: all, and the file itself */
};

/* Written by tune_begin, before the first wrapper can be reached. */
static struct {
	char text[TEXT + 1];
	struct rule rule[RULES];
	struct setting setting[SETTINGS];
	union knob_value value[VALUES];
	uint32_t rules, settings, values;
} all;

bool tune_on;

static const char head[] = "fathom-tuned 1";

static const struct knob *knob_named(const char *name)
{
	for (uint32_t i = 0; i < knobs_count; i++)
		if (strcmp(knobs[i].name, name) == 0)
			return &knobs[i];
	return NULL;
}

/* The word at *at, ended by a zero; *at is behind it. */
static char *take_word(char **at)
{
	char *word = *at, *end = word + strcspn(word, " ");

	*at = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

static struct setting *add_setting(const char *key)
{
	struct setting *s = &all.setting[all.settings];

	if (all.settings == SETTINGS || !all.rules)
		return NULL;
	all.settings++;
	*s = (struct setting){.key = key, .rule = (uint16_t)(all.rules - 1)};
	return s;
}

static bool take_info(char *rest)
{
	struct setting *s = add_setting(take_word(&rest));

	if (s)
		s->value = rest;
	return s && *rest;
}

/* Values stay as they are written for whoever reads what was set, and are read from a copy. */
static bool take_set(char *rest)
{
	struct setting *s = add_setting(take_word(&rest));
	char *at = rest, *end;

	if (!s || !(s->knob = knob_named(s->key)))
		return false;
	s->value = rest;
	s->first = (uint16_t)all.values;
	for (; *at && s->n < KNOB_VALUES && all.values < VALUES; s->n++, all.values++) {
		if (!s->knob->many && s->knob->real[s->n & 3])
			all.value[all.values].real = strtod(at, &end);
		else
			all.value[all.values].whole = strtoll(at, &end, 10);
		if (end == at)
			return false;
		at = end + strspn(end, " ");
	}
	return !*at && (s->knob->many ? s->n > 0 : s->n == s->knob->values);
}

static bool take_line(char *line, const char *end)
{
	char *rest = line;
	const char *key = take_word(&rest);
	struct rule *r = all.rules ? &all.rule[all.rules - 1] : NULL;

	if (strcmp(key, "rule") == 0) {
		if (all.rules == RULES)
			return false;
		all.rule[all.rules++] = (struct rule){NULL, NULL, NULL};
		return true;
	}
	if (!r) /* what the launch has got */
		return strcmp(key, "environment") == 0 || strcmp(key, "romio") == 0 ||
		       strcmp(key, "option") == 0;
	if (!*rest)
		return false;
	if (strcmp(key, "file") == 0) {
		r->files = r->files ? r->files : line;
		r->files_end = end;
		return true;
	}
	if (strcmp(key, "dataset") == 0) {
		r->dataset = rest;
		return true;
	}
	if (strcmp(key, "info") == 0)
		return take_info(rest);
	return strcmp(key, "set") == 0 && take_set(rest);
}

static bool take_text(char *text)
{
	char *next, *line = strsep(&text, "\n");

	if (!line || strcmp(line, head) != 0)
		return false;
	while ((line = strsep(&text, "\n")) && *line) {
		next = text ? text : line + strlen(line) + 1;
		if (!take_line(line, next))
			return false;
	}
	return true;
}

void tune_begin(const char *path)
{
	long fd, got = 0, more = 1;

	if (!path)
		return;
	fd = raw3(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && more > 0 && got < TEXT) {
		more = raw3(SYS_read, fd, (long)all.text + got, TEXT - got);
		got += more > 0 ? more : 0;
	}
	if (fd >= 0)
		raw3(SYS_close, fd, 0, 0);
	all.text[got] = '\0';
	if (got && got < TEXT && take_text(all.text))
		tune_on = all.settings;
	else
		note("tuned: %s cannot be read: nothing is set in this process", path);
}

/* Lines `file\0GLOB\0`; the last that matches counts. What begins with `!` takes what it does not name. */
static bool file_matches(const struct rule *r, const char *file)
{
	const char *at = r->files;
	bool matches;

	if (!at)
		return true;
	at += strlen(at) + 1;
	matches = *at == '!';
	for (; at < r->files_end; at += strlen(at) + 1 + sizeof("file")) {
		const bool out = *at == '!';

		if (glob_match(at + out, strlen(at + out), file))
			matches = !out;
	}
	return matches;
}

static bool holds(const struct setting *s, int list, const char *file, const char *dataset)
{
	const struct rule *r = &all.rule[s->rule];

	if (list != (s->knob ? s->knob->list : -1))
		return false;
	if (r->dataset && !(dataset && glob_match(r->dataset, strlen(r->dataset), dataset)))
		return false;
	return file_matches(r, file);
}

const struct setting *setting_next(uint32_t *at, int list, const char *file, const char *dataset)
{
	while (*at < all.settings) {
		const struct setting *s = &all.setting[(*at)++];

		if (holds(s, list, file, dataset))
			return s;
	}
	return NULL;
}

const union knob_value *setting_values(const struct setting *s)
{
	return &all.value[s->first];
}

uint16_t setting_number(const struct setting *s)
{
	return (uint16_t)(s - all.setting);
}

const struct setting *setting_at(uint16_t number)
{
	return &all.setting[number];
}
