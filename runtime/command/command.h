/* The native `fathom` command: starts programs under Fathom; hands every other command to Python.
 * It runs once and ends, so nothing is freed and every failure before the start ends the process. */
#ifndef FATHOM_COMMAND_H
#define FATHOM_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum {
	EXIT_FATHOM = 125, /* as env(1): the command itself failed */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

/* text.c: strings that grow, JSON, whole files. */
struct text {
	char *at;
	size_t used, room;
};
__attribute__((format(printf, 1, 2))) void warn(const char *format, ...); /* one line on stderr */
__attribute__((noreturn, format(printf, 2, 3))) void fail(int status, const char *format, ...);
__attribute__((format(printf, 1, 2))) char *format_text(const char *format, ...);
__attribute__((format(printf, 2, 3))) void text_add(struct text *text, const char *format, ...);
void json_string(struct text *out, const char *value); /* bytes that are no UTF-8 become U+FFFD */
void json_list(struct text *out, const char *items, char separator); /* NULL: none */
char *read_file(const char *path, size_t *size); /* NULL: cannot be read, errno says why */
bool read_line(const char *path, char *line, size_t size); /* first line without its end */
/* Makes `path` with these bytes, whole or not at all. false: it was there already. */
bool publish(const char *path, const void *bytes, size_t size);
bool replace_file(const char *path,
		  const char *text); /* whole or not at all; false: errno says why */
/* For who reads a file and replaces it: others that lock it wait, until this is closed. -1: nobody does. */
int lock_file(const char *path);
uint64_t random_number(void);

/* sink.c: streams shipped into shared files (docs/trace-sink.md). */
struct sink {
	bool on, nonblocking, plain;
	const char *flush; /* full, step, end */
	uint64_t size;     /* bytes of a transfer */
	uint64_t mark;     /* bytes that may wait on a node */
};
struct options;
struct run;
void sink_parse(struct options *options, const char *value);
void sink_check(const struct options *options);                 /* fails before anything is made */
size_t sink_words(const struct sink *sink, const char **words); /* of the agent; at most 8 */
const char *sink_place(const struct run *run); /* where this node's streams wait; NULL: nowhere */
void sink_json(struct text *out, const struct sink *sink);

/* options.c: what the user asked for: a field for each row of option_rows.h, and what has no row of its own. */
struct options {
#define TEXT(field, ...) const char *field;
#define FLAG(field, ...) bool field;
#define TAKEN(...)
#include "option_rows.h"
#undef TEXT
#undef FLAG
#undef TAKEN
	uint32_t recorded; /* layers, bit n: docs/control-page.md */
	uint32_t counted;
	const char *layers_asked; /* --layers; NULL: not given */
	const char *level_name;
	unsigned level;
	bool level_asked; /* --level was given */
	uint64_t budget;
	unsigned servers;  /* forwarding servers started around the program; 0: none */
	bool kernel_calls; /* of the kernel: its system calls, too */
	struct sink sink;
	char **command; /* NULL-terminated */
};
/* Names of these layers, comma-separated, each with `suffix`. */
char *layer_list(uint32_t layers, const char *suffix);
uint64_t parse_size(const char *option, const char *word);
void options_parse(struct options *options, bool with_command, int argc, char **argv);
void options_json(struct text *out,
		  const struct options *options); /* run.json's part: the rows with a key */
/* name, value of each variable that a row puts into the program; NULL value: it was not given. */
void options_variables(const struct options *options,
		       void (*use)(const char *name, const char *value));

/* nearest.c: "is it 'WORD'? " of the known word that is most like this one; "": none is. */
const char *nearest_text(const char *word, const char *const *known, size_t count);

/* launcher.c: who started us, and what names the job. */
struct launcher {
	const char *name; /* "": none */
	const char *job;  /* NULL: the launcher says nothing that all ranks would agree on */
};
struct launcher launcher_find(void);
const char *program_word(char **command); /* of the program, not of the launcher before it */
const char *program_name(char **command);

/* strace.c: programs that no library can be brought into. */
void strace_check(struct run *run); /* fails before anything is made */
__attribute__((noreturn)) void strace_exec(const struct run *run);
pid_t strace_program(pid_t strace); /* which it follows: signals are for it */
void strace_import(const struct run *run);

/* kernel.c: what the kernel does for the program. */
void kernel_load(struct run *run);   /* fails before anything is made */
void kernel_follow(struct run *run); /* from here on, what we start */
void kernel_end(const struct run *run);

/* image.c: a line if a program cannot be recorded, or not all of it. */
void image_say(const char *path);

/* run.c: the run and its directory. */
struct run {
	struct options options;
	struct launcher launcher;
	const char *program;
	const char *directory; /* absolute */
	const char *ring;
	const char *library;
	const char *probes_library; /* NULL: none */
	const char
		*selection; /* what processes read of the selection file; NULL: none, or not yet */
	const char *tuned;  /* the same of the settings file */
	const char *job;
	uint64_t id, start_ns;
	const char *start_json;          /* run.json's text without the closing brace */
	int agent_input, agent_output;   /* pipes to the agent; -1: none waits for us */
	int kernel_input, kernel_output; /* pipes to who loads the kernel's programs; -1: nobody */
	int watcher;                     /* socket to the watcher; -1: none listens to us */
	pid_t child;                     /* the program, when it has been started */
};
void run_name(struct run *run);
void run_create(struct run *run);
void run_finish(const struct run *run, int wait_status);
uint64_t now_ns(void); /* CLOCK_REALTIME */

/* node.c: what exists once per node. */
struct node {
	char host[256], boot_id[64], kernel[256], clock[32];
	uint64_t tsc_hz;       /* 0: not known */
	char processors[1024]; /* that are online: "0-3,8"; "": not known */
};
void node_read(struct node *node);
const char *ring_directory(const struct run *run);
void ring_check(void);
void node_create(struct run *run);
const char *node_directory(const struct run *run); /* where its streams go */
void ring_remove_if_done(const char *ring);
void ring_say_unwritten(
	const struct run *run); /* a line on stderr where a full disk left calls in rings */

/* output.c: what `program` prints, which does not return; NULL: cannot be read. Ends if it fails, having said why. */
char *output_of(const struct run *run, const char *option, void (*program)(const struct run *run));
int ring_lock(const struct run *run); /* held until it is closed: ranks that come at once wait */

/* selection.c: what the engine makes of the selection file. */
void selection_compile(struct run *run);    /* ends with its one line if something is wrong in it */
void selection_publish(struct run *run);    /* for this node, by the first that comes */
bool selection_is_word(const char *select); /* `critical`, no file's name */
bool selection_is_steered(const struct run *run);  /* it asks the agent who is critical */
const char *selection_path(const struct run *run); /* in the run directory, for other nodes */

/* tuned.c: what is set in the program. */
void tuned_compile(struct run *run); /* ends with its one line if something is wrong in it */
void tuned_publish(struct run *run);
/* The next line after *at that begins with this word and a blank, without them; NULL: none. */
char *tuned_line(const char **at, const char *word);
const char *tuned_path(const struct run *run); /* NULL: nothing is set */
void tuned_variables(const struct run *run, void (*use)(const char *name, const char *value));

/* apart.c: processes of ours beside the program, in a session of their own, that nobody waits for. */
struct apart {
	int input, output;              /* what standard input and output are; -1: nothing */
	int lock_fd;                    /* becomes descriptor 3; all others are closed */
	const char *log;                /* what standard error appends to; NULL: nothing */
	void (*become)(const void *of); /* does not return */
	const void *of;
};
bool apart_start(const struct apart *apart); /* false: no process could be made */

/* watch.c: who notes when recorded processes die, one per node; and the run's end, where `fathom run` was killed. */
void watch_start(struct run *run, bool wait);
void watch_program(const struct run *run, pid_t program); /* it has been started */
void watch_end(const struct run *run, int wait_status);   /* it has ended, and run.json says so */

/* map.c: what a process told of code that it made. `began`: when it was there already. */
bool map_is_there(pid_t pid, time_t began);
void map_keep(pid_t pid, time_t began, const char *copy);

/* keep.c: what becomes of streams when the program has ended. */
void keep_check(const struct run *run);  /* fails before anything is made */
void keep_decide(const struct run *run); /* on all nodes, by who started the program */
void keep_of_node(
	const struct run *run); /* the same on this one; returns if there is nothing to do */

/* agent.c: the process that stays beside the traced ones, one per node. */
const char *engine_find(void); /* NULL: not installed */
size_t agent_words(const struct run *run, const char *engine, const char **words); /* at most 18 */
void agent_start(struct run *run, bool wait);
void agent_end(const struct run *run);
void agent_print(struct run *run); /* the shell's line that starts it */

/* probes.c: the library made of them; NULL: of none. */
const char *probes_library(const char *probes, const char *library);

/* forwarding.c: servers around the program. */
void forwarding_check(const struct run *run); /* fails before anything is made */
void forwarding_tuned(struct run *run);       /* the same of what the settings say of servers */
__attribute__((noreturn)) void forwarding_exec(const struct run *run);

/* environment.c: the environment as a shell reads it. */
void environment_check(const struct options *options); /* fails before anything is made */
void environment_print(const struct run *run);
const char *sh_quoted(const char *value); /* as one word of sh */

/* start.c: environment and processes. */
const char *command_directory(void); /* where this binary lies */
const char *library_find(void);
const char *preload_word(const char *library); /* what LD_PRELOAD has for it */
void environment_set(const struct run *run);
/* name, value of each variable as docs/environment.md has them; NULL value: not set. */
void environment_each(const struct run *run, void (*use)(const char *name, const char *value));
const char *program_find(const char *program); /* by PATH; ends with 127 or 126 as env(1) does */
__attribute__((noreturn)) void program_exec(char **command);
bool child_wait(pid_t child, int *status); /* false: its status is not to be had */
int program_wait(struct run *run);         /* runs it as a child; its wait status */
__attribute__((noreturn)) void python_exec(char **arguments);
void python_run(char **arguments); /* what it prints goes to stderr: stdout is the program's */

#endif
