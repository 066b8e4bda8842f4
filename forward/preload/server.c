/* The client of this process, and how calls to it are made. */
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine.h"
#include "names.h"

enum {
	SILENT = 1000, /* ms that a server which did not answer in time has the next time */
	LOWEST = 4096, /* the client's descriptors lie below this number, and below the limit, */
	ROOM = 64,     /* this much: programs number their own from 0 on */
};

/* A page that a forked child finds zeroed, and a vforked one does not. */
struct own {
	_Atomic pid_t pid;
	_Atomic int locked;
};

static struct {
	struct own *_Atomic own;
	struct fathom_fwd *_Atomic client; /* written with own_lock */
	_Atomic bool silent;               /* the last call had no answer in time */
	_Atomic uid_t user;                /* as whom it is known to the server */
	_Atomic uint32_t complained;       /* keys of complain */
} skin;

static __thread bool in_client __attribute__((tls_model("initial-exec")));

void complain(int key, const char *format, ...)
{
	uint32_t bit = 1u << key;
	int before = errno, n;
	char line[1024];
	va_list list;

	if (atomic_fetch_or(&skin.complained, bit) & bit)
		return;
	va_start(list, format);
	n = snprintf(line, sizeof(line), "fathom forward: ");
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, list);
	va_end(list);
	n = n < (int)sizeof(line) - 2 ? n : (int)sizeof(line) - 2;
	line[n] = '\n';
	syscall(SYS_write, 2, line, n + 1);
	errno = before;
}

static struct own *own_page(void)
{
	struct own *page = atomic_load(&skin.own), *none = NULL;

	if (page)
		return page;
	page = next_mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (page == MAP_FAILED || madvise(page, sizeof(*page), MADV_WIPEONFORK))
		return NULL;
	if (!atomic_compare_exchange_strong(&skin.own, &none, page)) {
		munmap(page, sizeof(*page));
		page = none;
	}
	return page;
}

bool after_vfork(void)
{
	struct own *page = own_page();
	pid_t self = getpid(), whose = page ? atomic_load(&page->pid) : self;

	if (!whose)
		atomic_store(&page->pid, self);
	return whose && whose != self;
}

static void now_own(void)
{
	after_vfork();
}

/* A child of vfork must not be the first to ask who we are. */
void own_begin(void)
{
	now_own();
	pthread_atfork(NULL, NULL, now_own);
}

void own_lock(void)
{
	struct own *page = own_page();

	while (page && atomic_exchange(&page->locked, 1))
		sched_yield();
}

void own_unlock(void)
{
	struct own *page = own_page();

	if (page)
		atomic_store(&page->locked, 0);
}

struct fathom_fwd *own_client(void)
{
	return atomic_load(&skin.client);
}

bool asking(void)
{
	return in_client;
}

bool is_private(int fd)
{
	const struct fathom_fwd *c = atomic_load_explicit(&skin.client, memory_order_relaxed);

	return file_is_private(fd) || (fd > 0 && fd == cwd_descriptor()) ||
	       (c && fd >= 0 && (fd == c->link.fd || fd == c->wake));
}

uint32_t lowest_private(void)
{
	struct rlimit limit = {.rlim_cur = LOWEST};

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur > LOWEST)
		limit.rlim_cur = LOWEST;
	return limit.rlim_cur > 2 * ROOM ? (uint32_t)limit.rlim_cur - ROOM : 0;
}

/* Connects at the first call that needs it. 0 or an errno. */
static int connect_once(void)
{
	const struct settings *s = settings();
	struct fathom_fwd_options options = {.token_file = s->token,
					     .munge = s->munge,
					     .compress = s->compress,
					     .timeout = s->timeout,
					     .lowest = lowest_private()};
	struct fathom_fwd *connected = NULL;
	struct fathom_fwd_error error;
	int code = 0;

	own_lock();
	if (!skin.client) {
		options.connect = s->timeout;
		code = fathom_fwd_init(&connected, s->address, &options, &error);
		skin.user = geteuid();
		skin.client = connected;
	}
	own_unlock();
	if (!code)
		return 0;
	complain(29, "%s", error.what);
	return code == ENOENT ? ECONNREFUSED : code;
}

void hold_signals(sigset_t *before)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(&all, own[i]);
	pthread_sigmask(SIG_BLOCK, &all, before);
}

int asking_begin(struct asking *a, const char *name)
{
	int error = 0;

	*a = (struct asking){.before = errno, .hints = {.file = name}};
	hold_signals(&a->signals);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &a->cancel);
	in_client = true;
	if (after_vfork()) {
		complain(28, "a forwarded file is used between vfork and exec: ENOTSUP");
		return ENOTSUP;
	}
	if (!skin.client)
		error = connect_once();
	a->client = skin.client;
	if (!error &&
	    skin.user != geteuid()) { /* the server would do it with the rights of before */
		complain(27, "the process has another user than when it connected to its server: "
			     "EACCES");
		return EACCES;
	}
	if (skin.silent && (!settings()->timeout || settings()->timeout > SILENT))
		a->hints.timeout = SILENT;
	return error;
}

void asking_mixed(struct asking *a)
{
	a->hint[a->hints.count++] = (struct fathom_fwd_hint){.key = FATHOM_FWD_APPEND_SHARED};
	a->hints.hint = a->hint;
}

void asking_quietly(struct asking *a)
{
	a->hint[a->hints.count++] = (struct fathom_fwd_hint){.key = FATHOM_FWD_READ_NOATIME};
	a->hints.hint = a->hint;
}

void asking_about(struct asking *a, const struct fathom_fwd_handle *handle, const char *path)
{
	for (uint16_t i = 0; i < a->hints.paths; i++)
		if (a->path[i].handle == handle || i + 1 == sizeof(a->path) / sizeof(*a->path))
			return;
	a->path[a->hints.paths++] = (struct fathom_fwd_path){handle, path};
	a->hints.path = a->path;
}

const struct fathom_fwd_handle *asking_from(struct asking *a, const struct place *at)
{
	if (a->from_root || !at->from_directory)
		return NULL;
	asking_about(a, &at->directory, at->directory_path);
	return &at->directory;
}

const char *asking_below(const struct asking *a, const struct place *at)
{
	return a->from_root || !at->from_directory ? asking_path(a, at) : at->below;
}

const char *asking_path(const struct asking *a, const struct place *at)
{
	for (int i = 0; i < 2; i++)
		if (a->instead[i].of == at)
			return a->instead[i].path;
	return at->path;
}

static bool has_its_name(struct asking *a, const struct place *at)
{
	struct fathom_fwd_handle there;

	return !at->from_directory ||
	       (!fathom_fwd_lookup(a->client, NULL, at->directory_path, FATHOM_FWD_NOFOLLOW, &there,
				   NULL, &a->hints) &&
		!memcmp(&there, &at->directory, sizeof(there)));
}

bool asking_again(struct asking *a, const struct place *at, const struct place *to, int *error)
{
	bool from_directory = at->from_directory || (to && to->from_directory);

	if (*error != EXDEV || a->instead[0].of)
		return false;
	if (a->from_root || !from_directory)
		return name_by_absolute_links(a, at, to, error);
	a->from_root = true;
	return has_its_name(a, at) && (!to || has_its_name(a, to));
}

void asking_makes(struct asking *a, const struct fathom_fwd_striping *striping)
{
	if (!striping->size && !striping->servers && striping->first == FATHOM_FWD_ANY_SERVER)
		return;
	a->hint[a->hints.count++] = (struct fathom_fwd_hint){
		.key = FATHOM_FWD_STRIPING, .length = sizeof(*striping), .value = striping};
	a->hints.hint = a->hint;
}

/* What a program's own message cannot tell. */
static void say_trouble(const struct asking *a, int error)
{
	static const int troubles[] = {ETIMEDOUT, ECONNREFUSED, ECONNRESET, ESHUTDOWN,
				       EPROTO,    ESTALE,       EIO,        EXDEV,
				       EBUSY,     ENOSPC,       EDQUOT};

	for (int i = 0; i < (int)(sizeof(troubles) / sizeof(*troubles)); i++)
		if (error == troubles[i] && a->hints.error.code == error)
			complain(i, "%s", a->hints.error.what);
}

int asking_end(struct asking *a, int error)
{
	in_client = false;
	if (a->client)
		skin.silent = error == ETIMEDOUT;
	if (a->hints.by_path && a->file) {
		atomic_store(&a->file->epoch, fathom_fwd_epoch(a->client));
		atomic_store(&a->file->borrowed, false);
	}
	if (error)
		say_trouble(a, error);
	pthread_setcancelstate(a->cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &a->signals, NULL);
	errno = error ? error : a->before;
	return error ? -1 : 0;
}
