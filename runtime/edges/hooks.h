/* Symbols that the catalog does not know: the loader's own and those that start or end a
 * process. They go into the same slots as generated wrappers. */
#ifndef FATHOM_HOOKS_H
#define FATHOM_HOOKS_H

/* Places in struct originals, for hooks.S. */
#define ORIGINAL_DLSYM       0
#define ORIGINAL_DLVSYM      8
#define ORIGINAL_VFORK       16
#define ORIGINAL_OTHER_VFORK 24
#define ORIGINAL_FORK        32
#define ORIGINAL_BARE_FORK   40
#define ORIGINAL_OTHER_FORK  48
#define ORIGINAL_FORKPTY     56
#define ORIGINAL_SYSTEM      80
#define ORIGINAL_POPEN       88
#define ORIGINAL_SPAWN_0     96
#define ORIGINAL_SPAWN_1     104
#define ORIGINAL_SPAWNP_0    112
#define ORIGINAL_SPAWNP_1    120

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

enum { HOOK_COPIES = 2 };

struct hook {
	const char *name;
	uint8_t copies;
	void *wrapper[HOOK_COPIES];
	void **original[HOOK_COPIES]; /* written before the wrapper is reachable */
};

/* Written by edges.c under the loader's lock, read by the hooks. */
extern struct originals {
	void *dlsym, *dlvsym;
	void *vfork, *other_vfork, *fork, *bare_fork, *other_fork, *forkpty, *clone, *other_clone;
	void *system, *popen, *spawn[HOOK_COPIES], *spawnp[HOOK_COPIES];
	void *dlopen, *dlmopen, *dlclose;
	void *execve, *execv, *execvp, *execvpe, *execl, *execle, *execlp, *fexecve, *execveat;
	void *exit, *Exit, *prctl;
	void *chroot, *unshare, *setuid, *seteuid, *setreuid, *setresuid, *setrlimit, *setrlimit64;
	void *prlimit, *prlimit64;
	void *longjmp, *bare_longjmp, *siglongjmp, *checked_longjmp;
} originals __attribute__((visibility("hidden")));
_Static_assert(offsetof(struct originals, vfork) == ORIGINAL_VFORK &&
		       offsetof(struct originals, system) == ORIGINAL_SYSTEM &&
		       offsetof(struct originals, spawnp[1]) == ORIGINAL_SPAWNP_1,
	       "hooks.S knows these places");

extern const struct hook loader_hooks[], process_hooks[], confined_hooks[], jump_hooks[];
extern const uint32_t loader_hooks_count, process_hooks_count, confined_hooks_count,
	jump_hooks_count;

/* dlopen returned a handle; dlclose has been. Both keep errno. */
void edges_opened(void *handle, int flags);
void edges_closed(void);
/* Patches what came by a dlopen we did not see. */
void edges_settle(void);

/* What dlsym has to answer to the module that called it. `original` is what the loader answered for a
 * handle or RTLD_DEFAULT, NULL for RTLD_NEXT. NULL: let the loader answer itself. */
struct edges_question {
	void *handle;
	const char *name, *version;
	const void *caller;
	void *original;
};
void *edges_answer(const struct edges_question *question);
_Bool edges_in_libc(const void *address);
/* Would any slot of this name be pointed to us? Takes no lock. */
_Bool edges_knows(const char *name);

#endif
#endif
