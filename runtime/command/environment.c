/* `fathom env`: the environment in the words of a shell, or as JSON. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All of it, printed when it is whole, so that eval of a failure sets nothing. */
static struct text out;

/* One variable as a command of that shell; NULL value: it is to be unset. */
struct form {
	const char *names; /* blank-separated, with a blank before and after */
	void (*variable)(const char *name, const char *value);
	void (*preload)(const char *libraries);
};

/* In single quotes; `instead` of each of the letters in `special`. */
static const char *quoted(const char *value, const char *special, const char *const *instead)
{
	struct text word = {0};

	text_add(&word, "'");
	for (; *value; value++) {
		const char *at = strchr(special, *value);

		if (at)
			text_add(&word, "%s", instead[at - special]);
		else
			text_add(&word, "%c", *value);
	}
	text_add(&word, "'");
	return word.at;
}

const char *sh_quoted(const char *value)
{
	static const char *const instead[] = {"'\\''"};

	return quoted(value, "'", instead);
}

static void sh_variable(const char *name, const char *value)
{
	if (value)
		text_add(&out, "export %s=%s\n", name, sh_quoted(value));
	else
		text_add(&out, "unset %s\n", name);
}

/* After what is there when the line is read: it may be kept in a file. */
static void sh_preload(const char *libraries)
{
	text_add(&out, "export LD_PRELOAD=\"${LD_PRELOAD:+$LD_PRELOAD:}\"%s\n",
		 sh_quoted(libraries));
}

/* eval of backquotes makes one line of all, so each command ends in a semicolon; ! is history's in quotes too. */
static void csh_variable(const char *name, const char *value)
{
	static const char *const instead[] = {"'\\''", "\\!"};

	if (!value) {
		text_add(&out, "unsetenv %s;\n", name);
		return;
	}
	if (strchr(value, '\n'))
		fail(EXIT_FATHOM,
		     "--shell csh: eval in csh passes no line ends on, and %s has some", name);
	text_add(&out, "setenv %s %s;\n", name, quoted(value, "'!", instead));
}

static const char *after_preload(const char *libraries)
{
	const char *before = getenv("LD_PRELOAD");

	return before && *before ? format_text("%s:%s", before, libraries) : libraries;
}

static void csh_preload(const char *libraries)
{
	csh_variable("LD_PRELOAD", after_preload(libraries));
}

static void fish_variable(const char *name, const char *value)
{
	static const char *const instead[] = {"\\'", "\\\\"};

	if (value)
		text_add(&out, "set -gx %s %s\n", name, quoted(value, "'\\", instead));
	else
		text_add(&out, "set -e %s\n", name);
}

static void fish_preload(const char *libraries)
{
	fish_variable("LD_PRELOAD", after_preload(libraries));
}

static void json_variable(const char *name, const char *value)
{
	text_add(&out, "%s\"%s\": ", out.used ? ",\n  " : "{\n  ", name);
	if (value)
		json_string(&out, value);
	else
		text_add(&out, "null");
}

static void json_preload(const char *libraries)
{
	json_variable("LD_PRELOAD", after_preload(libraries));
	text_add(&out, "\n}\n");
}

static const struct form forms[] = {
	{" sh bash zsh ksh dash ", sh_variable, sh_preload},
	{" csh tcsh ", csh_variable, csh_preload},
	{" fish ", fish_variable, fish_preload},
	{" json ", json_variable, json_preload},
};

static const struct form *form_find(const char *shell)
{
	const char *word = format_text(" %s ", shell);

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (!strchr(shell, ' ') && strstr(forms[i].names, word))
			return &forms[i];
	return NULL;
}

void environment_check(const struct options *options)
{
	const struct form *form = form_find(options->shell);

	if (!form)
		fail(EXIT_FATHOM, "--shell: '%s' is none of sh, csh, fish, json", options->shell);
	if (form->variable == csh_variable && options->files && strchr(options->files, '\n'))
		fail(EXIT_FATHOM,
		     "--shell csh: eval in csh passes no line ends on; give one --files at most");
	if (form->variable != sh_variable && options->sample)
		fail(EXIT_FATHOM,
		     "--shell %s: only a script for sh can start an agent; leave --agent, "
		     "--sample, "
		     "--collect and --select critical to `fathom run` in the script",
		     options->shell);
}

void environment_print(const struct run *run)
{
	const struct form *form = form_find(run->options.shell);
	const char *libraries = preload_word(run->library);

	if (run->probes_library)
		libraries = format_text("%s:%s", libraries, preload_word(run->probes_library));

	environment_each(run, form->variable);
	form->preload(libraries);
	fputs(out.at, stdout);
	if (fflush(stdout) || ferror(stdout))
		fail(EXIT_FATHOM, "cannot print the environment: %s", strerror(errno));
}
