/* The settings file, read once: rules, what they hold for, what they set. */
#include "tune/settings.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/text.h"
#include "core/raw.h"

enum { TEXT = 65536, RULES = 256, VALUES = 4096 };

/* Written by tune_begin, before the first wrapper can be reached. */
static struct {
	char text[TEXT + 1];
	struct rule rule[RULES];
	struct setting setting[SETTINGS];
	union knob_value value[VALUES];
} all;

struct table settings = {
	.rule = all.rule,
	.setting = all.setting,
	.value = all.value,
	.rules_most = RULES,
	.settings_most = SETTINGS,
	.values_most = VALUES,
};

bool tune_on, settings_live;

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

static struct setting *add_setting(struct table *t, const char *key)
{
	struct setting *s = &t->setting[t->settings];

	if (t->settings == t->settings_most || !t->rules)
		return NULL;
	*s = (struct setting){.key = key,
			      .rule = &t->rule[t->rules - 1],
			      .number = (uint16_t)(t->first + t->settings)};
	t->settings++;
	return s;
}

static bool take_info(struct table *t, char *rest)
{
	struct setting *s = add_setting(t, take_word(&rest));

	if (s)
		s->value = rest;
	return s && *rest;
}

/* Values stay as they are written for whoever reads what was set, and are read from a copy. */
static bool take_set(struct table *t, char *rest)
{
	struct setting *s = add_setting(t, take_word(&rest));
	char *at = rest, *end;

	if (!s || !(s->knob = knob_named(s->key)))
		return false;
	s->value = rest;
	s->values = &t->value[t->values];
	for (; *at && s->n < KNOB_VALUES && t->values < t->values_most; s->n++, t->values++) {
		if (!s->knob->many && s->knob->real[s->n & 3])
			t->value[t->values].real = strtod(at, &end);
		else
			t->value[t->values].whole = strtoll(at, &end, 10);
		if (end == at)
			return false;
		at = end + strspn(end, " ");
	}
	return !*at && (s->knob->many ? s->n > 0 : s->n == s->knob->values);
}

/* What is not of a file: `live` is for us, the rest the launch has got. */
static bool take_other(const char *key)
{
	if (strcmp(key, "live") == 0)
		return settings_live = true;
	return strcmp(key, "environment") == 0 || strcmp(key, "romio") == 0 ||
	       strcmp(key, "option") == 0;
}

static bool take_line(struct table *t, char *line, const char *end)
{
	char *rest = line;
	const char *key = take_word(&rest);
	struct rule *r = t->rules ? &t->rule[t->rules - 1] : NULL;

	if (strcmp(key, "rule") == 0) {
		if (t->rules == t->rules_most)
			return false;
		t->rule[t->rules++] = (struct rule){NULL, NULL, NULL};
		return true;
	}
	if (!r)
		return take_other(key);
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
		return take_info(t, rest);
	if (strcmp(key, "anew") == 0)
		return t->settings && (t->setting[t->settings - 1].anew = true);
	return strcmp(key, "set") == 0 && take_set(t, rest);
}

bool settings_read(struct table *t, char *text)
{
	char *next, *line = strsep(&text, "\n");

	if (!line || strcmp(line, head) != 0)
		return false;
	while ((line = strsep(&text, "\n")) && *line) {
		next = text ? text : line + strlen(line) + 1;
		if (!take_line(t, line, next))
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
	if (got && got < TEXT && settings_read(&settings, all.text))
		tune_on = settings.settings || settings_live;
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
	const struct rule *r = s->rule;

	if (list != (s->knob ? s->knob->list : -1))
		return false;
	if (r->dataset && !(dataset && glob_match(r->dataset, strlen(r->dataset), dataset)))
		return false;
	return file_matches(r, file);
}

const struct setting *setting_next(const struct table *t, uint32_t *at, int list, const char *file,
				   const char *dataset)
{
	while (*at < t->settings) {
		const struct setting *s = &t->setting[(*at)++];

		if (holds(s, list, file, dataset))
			return s;
	}
	return NULL;
}

const struct setting *setting_at(uint16_t number)
{
	return number < SETTINGS ? &all.setting[number] : live_setting(number - SETTINGS);
}
