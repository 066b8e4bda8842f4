/* Start, end, fork and exec of a traced process: what runtime/edges calls. */
#ifndef FATHOM_PROCESS_H
#define FATHOM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the environment; false: this process is not traced (no run, a launcher, a rank left out). */
bool process_begin(void);
/* Of a program that the runtime is a part of: whatever its name, and never a rank. `run` NULL: FATHOM_RUN's. */
bool process_begin_own(const char *run);
/* Into a process that runs: by `settings` instead of its environment: NAME=VALUE, each
 * with a zero behind it, and one more behind all. False: it is recorded
 * already, or not to be. `own`: as process_begin_own. */
bool process_attach(const char *settings, bool own);
/* Ends that: all is written, and its ring removed. It can be attached again. False: it is not recorded. */
bool process_detach(void);
const char *process_run(void);        /* the run that it is recorded in; NULL: none */
void process_started(void);           /* the constructor's work is done: its time is a row */
void process_patched(uint64_t began); /* slots of a library that came later were patched since */
uint32_t process_layers(void);        /* layers to patch: bit mask */
const char *process_tuned(void);      /* the file of the run's settings; NULL: none */
/* Writes all streams out and removes the ring: destructor, _exit. In a vfork child: its own stream only. */
void process_end(void);
/* Before exec: the same, but recording can go on; after a failed exec: it does. */
void process_before_exec(void);
void process_resume(void);
/* Around vfork: the child runs on the parent's memory and thread, but is another process. */
void process_vfork_child(void);
void process_vfork_parent(void);
/* Before it confines itself, so that files may be out of reach: memory that needs none is set aside. */
void process_confined(void);
/* Before the program limits its system calls: from here on we make none. `no_clock`: not even by the processor's
 * counter is time to be had. Behind that: whether it did. */
void process_quiet(bool no_clock);
void process_limited(bool done);
/* Another task will use this thread's storage at the same time: neither is recorded from here. */
void process_leave_thread(void);
/* A longjmp goes to a frame above `stack`: the calls left below it end here. NULL: not known. */
void process_jumps(const void *stack);
struct link_map;
/* The module that an address lies in, and where that begins; NULL: none. Searches no symbols, as dladdr would. */
const struct link_map *process_module(const void *address, void **begin);
/* A descriptor table shared with a child: offsets are no longer known. */
void process_shared_descriptors(bool only_across_exec);

#endif
