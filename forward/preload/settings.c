/* What the environment says: FATHOM_FORWARD_*. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skin.h"

static struct settings configured;
static _Atomic int state; /* 0: not read, 1: being read, 2: forwarding, 3: nothing to forward */

static void add_prefix(const char *text, size_t length)
{
	struct prefix *p = &configured.prefix[configured.prefixes];

	while (length > 1 && text[length - 1] == '/')
		length--;
	if (!length)
		return;
	if (*text != '/' || length == 1 || length >= PATH_MAX || configured.prefixes == PREFIXES) {
		complain(30,
			 "FATHOM_FORWARD_PREFIX: '%.*s' is left out; name up to %d absolute paths",
			 (int)length, text, PREFIXES);
		return;
	}
	memcpy(p->path, text, length);
	p->length = length;
	configured.prefixes++;
}

static void read_prefixes(const char *text)
{
	while (text && *text) {
		size_t length = strcspn(text, ":");

		add_prefix(text, length);
		text += length + (text[length] == ':');
	}
}

/* The rank, where a launcher tells it; else all processes of a node go to one server. */
static unsigned long own_number(void)
{
	static const char *const ranks[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
	unsigned long hash = 5381;
	char host[256] = "";

	for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++)
		if (getenv(ranks[i]))
			return strtoul(getenv(ranks[i]), NULL, 10);
	gethostname(host, sizeof(host) - 1);
	for (const char *c = host; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	return hash;
}

static bool choose_server(const char *all)
{
	unsigned long count = 1, wanted;

	for (const char *c = all; *c; c++)
		count += *c == ';';
	for (wanted = own_number() % count; wanted; wanted--)
		all = strchr(all, ';') + 1;
	size_t length = strcspn(all, ";");

	if (!length || length >= ADDRESS)
		return false;
	memcpy(configured.address, all, length);
	return true;
}

/* NAME=NUMBER at `text`, and what is behind it; a number of bytes may end in k, m or g. */
static const char *read_number(const char *text, const char *name, uint64_t *into)
{
	static const char units[] = "kmg";
	const size_t length = strlen(name);
	const char *unit;
	char *end;

	if (strncmp(text, name, length) != 0 || text[length] < '0' || text[length] > '9')
		return NULL;
	*into = strtoull(text + length, &end, 10);
	unit = *end ? strchr(units, *end | 32) : NULL;
	if (unit) {
		*into <<= 10 * (unit - units + 1);
		end++;
	}
	return *end == ',' || !*end ? end + (*end == ',') : NULL;
}

/* What cannot be read is said, and nothing of it is wished. */
static struct fathom_fwd_striping read_striping(const char *text)
{
	uint64_t size = 0, servers = 0, first = FATHOM_FWD_ANY_SERVER;
	const char *at = text;

	while (at && *at) {
		const char *from = at;

		at = read_number(from, "size=", &size);
		if (!at)
			at = read_number(from, "servers=", &servers);
		if (!at)
			at = read_number(from, "first=", &first);
	}
	if (text && !at)
		complain(24, "FATHOM_FORWARD_STRIPING: '%.60s' is not size=BYTES,servers=N,first=N",
			 text);
	if (!at)
		return (struct fathom_fwd_striping){.first = FATHOM_FWD_ANY_SERVER};
	return (struct fathom_fwd_striping){size, (uint32_t)servers, (uint32_t)first};
}

static bool read_all(void)
{
	const char *servers = getenv("FATHOM_FORWARD_SERVERS"),
		   *timeout = getenv("FATHOM_FORWARD_TIMEOUT"),
		   *level = getenv("FATHOM_FORWARD_DURABILITY"),
		   *mpiio = getenv("FATHOM_FORWARD_MPIIO"),
		   *compress = getenv("FATHOM_FORWARD_COMPRESS"),
		   *munge = getenv("FATHOM_FORWARD_MUNGE");

	read_prefixes(getenv("FATHOM_FORWARD_PREFIX"));
	if (!configured.prefixes)
		return false;
	if (!servers || !choose_server(servers)) {
		complain(30, "FATHOM_FORWARD_SERVERS names no server: unix:PATH, tcp:HOST:PORT or "
			     "ofi:HOST:PORT, several with ';' between");
		return false;
	}
	configured.level =
		level && !strcmp(level, "accepted") ? FATHOM_FWD_ACCEPTED : FATHOM_FWD_WRITTEN;
	if (level && configured.level == FATHOM_FWD_WRITTEN && strcmp(level, "written") != 0)
		complain(27, "FATHOM_FORWARD_DURABILITY: '%.40s' is neither accepted nor written",
			 level);
	configured.mpiio = !mpiio || strcmp(mpiio, "library") != 0;
	configured.striping = read_striping(getenv("FATHOM_FORWARD_STRIPING"));
	configured.token = getenv("FATHOM_FORWARD_TOKEN");
	if (munge && *munge)
		configured.munge = strcmp(munge, "1") != 0 ? munge : "";
	configured.compress = compress && !strcmp(compress, "1");
	configured.timeout = timeout ? (uint32_t)(strtod(timeout, NULL) * 1000) : 0;
	return true;
}

const struct settings *settings(void)
{
	int now = atomic_load_explicit(&state, memory_order_acquire), none = 0;

	if (now == 2)
		return &configured;
	if (now == 0 && atomic_compare_exchange_strong(&state, &none, 1)) {
		now = read_all() ? 2 : 3;
		atomic_store_explicit(&state, now, memory_order_release);
	}
	return now == 2 ? &configured : NULL;
}
