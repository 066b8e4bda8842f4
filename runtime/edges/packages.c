/* Packages of Python that move data: told with their versions when a module of theirs is loaded. A version is in the name of what
 * an installer leaves beside the code: `h5py-3.11.0.dist-info`, or `.egg-info`. */
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>

#include "core/call.h"
#include "core/raw.h"
#include "core/text.h"
#include "edges/edges.h"
#include "edges/modules.h"
#include "edges/packages.h"

enum { PATH_BYTES = 4096, VERSION_BYTES = 32 };

/* Under the loader's lock. */
static struct {
	uint64_t folder; /* whose versions these are, by its name */
	char version[PACKAGES][VERSION_BYTES];
	bool told[PACKAGES];
} site;

/* A package that is not told yet. */
struct found {
	const char *module;
	size_t next;      /* of the modules */
	const char *name; /* NULL: there is none */
	char version[VERSION_BYTES];
	char folder[PATH_BYTES];
	bool scripts; /* the folder is new: what is Python alone there is told too */
};

/* Behind the folder of all packages; NULL: it lies in none. */
static const char *in_folder(const char *module)
{
	const char *at = strstr(module, "/site-packages/");

	at = at ? at : strstr(module, "/dist-packages/");
	return at ? at + strlen("/site-packages/") : NULL;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* `entry` is the name, then a hyphen: installers write names in lower case, or as they are. */
static bool is_of(const char *entry, const char *name)
{
	while (*name && lower(*entry) == lower(*name))
		entry++, name++;
	return !*name && *entry == '-';
}

static void read_entry(const char *entry)
{
	const char *end = strstr(entry, ".dist-info"), *version = strchr(entry, '-');
	size_t length;

	end = end ? end : strstr(entry, ".egg-info");
	if (!end || !version || version > end)
		return;
	length = strcspn(++version, "-"); /* `-py3.11` may follow */
	if (length > (size_t)(end - version))
		length = (size_t)(end - version);
	if (length >= VERSION_BYTES)
		return;
	for (int i = 0; i < PACKAGES; i++)
		if (is_of(entry, packages[i]))
			text_copy(site.version[i], length + 1, version);
}

static void read_folder(const char *folder)
{
	char entries[4096] __attribute__((aligned(8)));
	const long fd =
		raw4(SYS_openat, AT_FDCWD, (long)folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long got;

	memset(site.version, 0, sizeof(site.version));
	while (fd >= 0 && (got = raw3(SYS_getdents64, fd, (long)entries, sizeof(entries))) > 0)
		for (long at = 0; at < got;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			read_entry(entry->d_name);
			at += entry->d_reclen;
		}
	if (fd >= 0)
		raw3(SYS_close, fd, 0, 0);
}

static int number_of(const char *package)
{
	for (int i = 0; i < SCRIPTS; i++) {
		const size_t length = strlen(packages[i]);

		if (strncmp(package, packages[i], length) == 0 && package[length] == '/')
			return i;
	}
	return -1;
}

static bool look(struct found *found, const char *module)
{
	const char *package = in_folder(module);
	const int number = package ? number_of(package) : -1;
	uint64_t folder;

	if (number < 0 || site.told[number] || package - module > PATH_BYTES)
		return false;
	site.told[number] = true;
	text_copy(found->folder, (size_t)(package - module), module);
	folder = text_hash(found->folder, 0);
	found->scripts = site.folder != folder;
	if (found->scripts)
		read_folder(found->folder);
	site.folder = folder;
	found->name = packages[number];
	text_copy(found->version, VERSION_BYTES, site.version[number]);
	return true;
}

static void look_at_one(void *argument)
{
	struct found *found = argument;

	look(found, found->module);
}

static void look_at_next(void *argument)
{
	struct found *found = argument;
	const size_t count = modules_count();

	while (found->next < count && !look(found, module_number(found->next)->map->l_name))
		found->next++;
}

static void tell(const struct found *found)
{
	note_library("%s%s%s", found->name, found->version[0] ? " " : "", found->version);
	for (int i = SCRIPTS; found->scripts && i < PACKAGES; i++)
		if (site.version[i][0])
			note_package(packages[i], site.version[i], found->folder);
}

void package_loaded(const char *module)
{
	struct found found = {.module = module};

	if (in_folder(module) && modules_locked(look_at_one, &found) && found.name)
		tell(&found);
}

void packages_loaded_before(void)
{
	struct found found = {.next = 0};

	memset(&site, 0, sizeof(site));
	while (modules_locked(look_at_next, &found) && found.name) {
		tell(&found);
		found.name = NULL;
	}
}
