/* What a program does to confine itself: our files may be out of its reach behind it. Arguments go on unchanged. */
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "core/process.h"
#include "core/raw.h"
#include "edges/hooks.h"

static int hook_chroot(const char *path)
{
	process_confined();
	return ((int (*)(const char *))originals.chroot)(path);
}

static int hook_unshare(int flags)
{
	process_confined();
	return ((int (*)(int))originals.unshare)(flags);
}

static int hook_setuid(uid_t user)
{
	process_confined();
	return ((int (*)(uid_t))originals.setuid)(user);
}

static int hook_seteuid(uid_t user)
{
	process_confined();
	return ((int (*)(uid_t))originals.seteuid)(user);
}

static int hook_setreuid(uid_t user, uid_t effective)
{
	process_confined();
	return ((int (*)(uid_t, uid_t))originals.setreuid)(user, effective);
}

static int hook_setresuid(uid_t user, uid_t effective, uid_t saved)
{
	process_confined();
	return ((int (*)(uid_t, uid_t, uid_t))originals.setresuid)(user, effective, saved);
}

/* Many raise theirs to the most that they may have. */
static void limited(int resource, const struct rlimit *limit)
{
	struct rlimit now;

	if (!limit ||
	    (resource != RLIMIT_NOFILE && resource != RLIMIT_AS && resource != RLIMIT_FSIZE))
		return;
	if (raw4(SYS_prlimit64, 0, resource, 0, (long)&now) == 0 && limit->rlim_cur < now.rlim_cur)
		process_confined();
}

static int hook_setrlimit(int resource, const struct rlimit *limit)
{
	limited(resource, limit);
	return ((int (*)(int, const struct rlimit *))originals.setrlimit)(resource, limit);
}

static int hook_setrlimit64(int resource, const struct rlimit *limit)
{
	limited(resource, limit);
	return ((int (*)(int, const struct rlimit *))originals.setrlimit64)(resource, limit);
}

static int hook_prlimit(pid_t process, int resource, const struct rlimit *limit,
			struct rlimit *before)
{
	limited(resource, limit);
	return ((int (*)(pid_t, int, const struct rlimit *, struct rlimit *))originals.prlimit)(
		process, resource, limit, before);
}

static int hook_prlimit64(pid_t process, int resource, const struct rlimit *limit,
			  struct rlimit *before)
{
	limited(resource, limit);
	return ((int (*)(pid_t, int, const struct rlimit *, struct rlimit *))originals.prlimit64)(
		process, resource, limit, before);
}

const struct hook confined_hooks[] = {
	{"chroot", 1, {hook_chroot}, {&originals.chroot}},
	{"unshare", 1, {hook_unshare}, {&originals.unshare}},
	{"setuid", 1, {hook_setuid}, {&originals.setuid}},
	{"seteuid", 1, {hook_seteuid}, {&originals.seteuid}},
	{"setreuid", 1, {hook_setreuid}, {&originals.setreuid}},
	{"setresuid", 1, {hook_setresuid}, {&originals.setresuid}},
	{"setrlimit", 1, {hook_setrlimit}, {&originals.setrlimit}},
	{"setrlimit64", 1, {hook_setrlimit64}, {&originals.setrlimit64}},
	{"prlimit", 1, {hook_prlimit}, {&originals.prlimit}},
	{"prlimit64", 1, {hook_prlimit64}, {&originals.prlimit64}},
};
const uint32_t confined_hooks_count = sizeof(confined_hooks) / sizeof(confined_hooks[0]);
