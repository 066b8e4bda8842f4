/* libfabric by its functions: whom to connect to, and who connects. */
#include "ofi.h"

#include <errno.h>
#include <stdio.h>

#if __has_include(<rdma/fabric.h>)
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "ofi_link.h"

enum { PROVIDER = 64, HOST = 256 };

/* Written once, by load. */
static struct {
	pthread_once_t once;
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	const char *(*text)(int code);
} library = {.once = PTHREAD_ONCE_INIT};

/* The versions of the functions that our headers' structures belong to. */
static void load(void)
{
	void *ofi = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!ofi)
		return;
	library.getinfo = dlvsym(ofi, "fi_getinfo", "FABRIC_1.3");
	library.freeinfo = dlvsym(ofi, "fi_freeinfo", "FABRIC_1.3");
	library.dupinfo = dlvsym(ofi, "fi_dupinfo", "FABRIC_1.3");
	library.fabric = dlvsym(ofi, "fi_fabric", "FABRIC_1.1");
	library.text = dlvsym(ofi, "fi_strerror", "FABRIC_1.0");
}

static bool is_loaded(void)
{
	pthread_once(&library.once, load);
	return library.getinfo && library.freeinfo && library.dupinfo && library.fabric &&
	       library.text;
}

static int failed(char why[OFI_WHY], const char *what, ssize_t code)
{
	snprintf(why, OFI_WHY, "libfabric: %s: %.120s", what, library.text((int)-code));
	return ofi_errno(code);
}

/* PROVIDER, or "" for libfabric's choice, HOST and PORT of an address. */
static int split(const char *where, char provider[PROVIDER], char host[HOST], const char **port)
{
	const char *colon = strchr(where, ':');
	size_t length = colon ? (size_t)(colon - where) : 0;

	*provider = 0;
	if (!colon || (length && (*where != '+' || length < 2)) || length > PROVIDER)
		return EINVAL;
	if (length)
		snprintf(provider, PROVIDER, "%.*s", (int)length - 1, where + 1);
	return split_host(colon + 1, host, HOST, port);
}

/* What there is for an address: connected endpoints that carry messages. */
static int find(const char *where, uint64_t flags, struct fi_info **info, char why[OFI_WHY])
{
	char provider[PROVIDER], host[HOST];
	const char *port = NULL;
	struct fi_info *hints;
	int error;

	if (!is_loaded()) {
		snprintf(why, OFI_WHY, "libfabric.so.1 is not installed, or older than 1.3");
		return ELIBACC;
	}
	error = split(where, provider, host, &port);
	if (error)
		return error;
	hints = library.dupinfo(NULL);
	if (!hints)
		return ENOMEM;
	hints->caps = FI_MSG;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->fabric_attr->prov_name = *provider ? strdup(provider) : NULL;
	error = library.getinfo(FI_VERSION(1, 5), host, port, flags, hints, info);
	library.freeinfo(hints);
	return error ? failed(why, *provider ? provider : "no provider for it", error) : 0;
}

static int64_t left_until(int64_t due)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return due - ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

/* Until the peer has taken us, or has not. */
static int await(struct ofi *o, int64_t due, char why[OFI_WHY])
{
	struct pollfd p = {.fd = o->set, .events = POLLIN};

	for (;;) {
		int64_t left = left_until(due);

		ofi_progress(o);
		if (o->connected)
			return 0;
		if (o->error || o->ended) {
			int error = o->error ? o->error : ECONNRESET;

			snprintf(why, OFI_WHY, "libfabric: connecting: %s", strerror(error));
			return error;
		}
		if (left <= 0)
			return ETIMEDOUT;
		poll(&p, 1, (int)(left < 1000 ? left : 1000));
	}
}

static int connect_to(struct ofi *o, struct fi_info *info, int64_t due, char why[OFI_WHY])
{
	uint8_t greeting[OFI_GREETING];
	ssize_t done;
	int error;

	if ((done = library.fabric(info->fabric_attr, &o->fabric, NULL)))
		return failed(why, "fabric", done);
	o->waits_in = o->fabric;
	if ((done = fi_domain(o->fabric, info, &o->domain, NULL)))
		return failed(why, "domain", done);
	error = ofi_make(o, o->domain, info);
	if (error)
		return failed(why, "endpoint", -error);
	ofi_greet(greeting);
	if ((done = fi_connect(o->ep, info->dest_addr, greeting, sizeof(greeting))))
		return failed(why, "connecting", done);
	return await(o, due, why);
}

/* The descriptor whose ends have these addresses; -1: none. */
static int find_socket(const struct sockaddr_storage *mine, const struct sockaddr_storage *theirs,
		       socklen_t length)
{
	DIR *all = opendir("/proc/self/fd");
	const struct dirent *entry;
	int match = -1;

	while (all && match < 0 && (entry = readdir(all))) {
		struct sockaddr_storage local, peer;
		socklen_t n = sizeof(local), m = sizeof(peer);
		int fd = atoi(entry->d_name);

		if (!getsockname(fd, (struct sockaddr *)&local, &n) && n == length &&
		    !getpeername(fd, (struct sockaddr *)&peer, &m) && m == length &&
		    !memcmp(&local, mine, n) && !memcmp(&peer, theirs, m))
			match = fd;
	}
	if (all)
		closedir(all);
	return match;
}

int ofi_own_socket(struct ofi *o)
{
	const int on = 1, idle = 30, between = 4, times = 4; /* seconds */
	struct sockaddr_storage mine, theirs;
	size_t n = sizeof(mine), m = sizeof(theirs);
	int fd;

	memset(&mine, 0, n);
	memset(&theirs, 0, m);
	if (fi_getname(&o->ep->fid, &mine, &n) || fi_getpeer(o->ep, &theirs, &m) || n != m ||
	    (mine.ss_family != AF_INET && mine.ss_family != AF_INET6))
		return -1;
	fd = find_socket(&mine, &theirs, (socklen_t)n);
	if (fd < 0)
		return -1;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof(between));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
	return fd;
}

static struct ofi *blank(void)
{
	struct ofi *o = calloc(1, sizeof(*o));

	if (o)
		o->set = o->ready = o->socket = -1;
	return o;
}

/* Each attempt has a fabric of its own: one that failed leaves nothing behind. */
int ofi_connect(struct ofi **connection, const char *where, int64_t due, char why[OFI_WHY])
{
	struct fi_info *info = NULL;
	struct ofi *o = blank();
	int error = o ? find(where, 0, &info, why) : ENOMEM;

	if (!error)
		error = connect_to(o, info, due, why);
	if (info)
		library.freeinfo(info);
	if (error && o) {
		o->whose = getpid();
		ofi_close(o);
		o = NULL;
	}
	*connection = o;
	return error;
}

/* ---- those who listen ---- */

struct ofi_listener {
	struct fid_fabric *fabric;
	struct fid_domain *domain; /* of all its connections */
	struct fid_eq *eq;
	struct fid_pep *pep;
	int fd;
};

static void say_address(const struct ofi_listener *l, const char *provider,
			char address[OFI_ADDRESS])
{
	struct sockaddr_storage at;
	size_t size = sizeof(at);
	char host[INET6_ADDRSTRLEN] = "";
	bool six;

	memset(&at, 0, sizeof(at));
	if (fi_getname(&l->pep->fid, &at, &size) ||
	    (at.ss_family != AF_INET && at.ss_family != AF_INET6))
		return;
	six = at.ss_family == AF_INET6;
	inet_ntop(at.ss_family,
		  six ? (void *)&((struct sockaddr_in6 *)&at)->sin6_addr
		      : (void *)&((struct sockaddr_in *)&at)->sin_addr,
		  host, sizeof(host));
	snprintf(address, OFI_ADDRESS, "ofi%s%s:%s%s%s:%u", *provider ? "+" : "", provider,
		 six ? "[" : "", host, six ? "]" : "",
		 ntohs(six ? ((struct sockaddr_in6 *)&at)->sin6_port
			   : ((struct sockaddr_in *)&at)->sin_port));
}

static int listen_at(struct ofi_listener *l, struct fi_info *info, char why[OFI_WHY])
{
	struct fi_eq_attr events = {.wait_obj = FI_WAIT_FD};
	ssize_t done;

	if ((done = library.fabric(info->fabric_attr, &l->fabric, NULL)))
		return failed(why, "fabric", done);
	if ((done = fi_eq_open(l->fabric, &events, &l->eq, NULL)))
		return failed(why, "event queue", done);
	if ((done = fi_passive_ep(l->fabric, info, &l->pep, NULL)) ||
	    (done = fi_pep_bind(l->pep, &l->eq->fid, 0)) || (done = fi_listen(l->pep)))
		return failed(why, "listening", done);
	if ((done = fi_control(&l->eq->fid, FI_GETWAIT, &l->fd)))
		return failed(why, "a descriptor to wait on", done);
	return 0;
}

int ofi_listen(struct ofi_listener **listener, const char *where, char address[OFI_ADDRESS],
	       char why[OFI_WHY])
{
	struct ofi_listener *l = calloc(1, sizeof(*l));
	char provider[PROVIDER], host[HOST];
	struct fi_info *info = NULL;
	const char *port;
	int error = l ? find(where, FI_SOURCE, &info, why) : ENOMEM;

	if (!error)
		error = listen_at(l, info, why);
	if (info)
		library.freeinfo(info);
	if (error && l) {
		ofi_listener_close(l);
		l = NULL;
	}
	*listener = l;
	if (error)
		return error;
	snprintf(address, OFI_ADDRESS, "ofi%s", where);
	split(where, provider, host, &port);
	say_address(l, provider, address);
	return 0;
}

int ofi_listener_descriptor(const struct ofi_listener *l)
{
	return l->fd;
}

static int take_in(struct ofi_listener *l, struct fi_info *info, const uint8_t *greeting,
		   size_t length, struct ofi **connection)
{
	uint8_t ours[OFI_GREETING];
	struct ofi *o = blank();
	ssize_t done = 0;
	int error = o ? 0 : ENOMEM;

	if (!error && !l->domain && (done = fi_domain(l->fabric, info, &l->domain, NULL)))
		error = ofi_errno(done);
	if (!error && !ofi_greeted(o, greeting, length))
		error = EPROTO;
	if (!error) {
		o->waits_in = l->fabric;
		error = ofi_make(o, l->domain, info);
	}
	ofi_greet(ours);
	if (!error)
		error = ofi_errno(fi_accept(o->ep, ours, sizeof(ours)));
	if (error) {
		if (!o || !o->ep)
			fi_reject(l->pep, info->handle, NULL, 0);
		if (o) {
			o->whose = getpid();
			ofi_close(o);
		}
		return error;
	}
	ofi_progress(o);
	ofi_watch(o, true, false); /* it may have said something already */
	*connection = o;
	return 0;
}

int ofi_accept(struct ofi_listener *l, struct ofi **connection)
{
	uint8_t bytes[sizeof(struct fi_eq_cm_entry) + 256];
	struct fi_eq_cm_entry *entry = (struct fi_eq_cm_entry *)bytes;
	struct fi_eq_err_entry wrong = {.err = 0};
	struct fid *queue = &l->eq->fid;
	uint32_t event;

	for (;;) {
		ssize_t n = fi_eq_read(l->eq, &event, bytes, sizeof(bytes), 0);

		if (n == -FI_EAVAIL) {
			fi_eq_readerr(l->eq, &wrong, 0);
			return ECONNABORTED;
		}
		if (n < 0 && fi_trywait(l->fabric, &queue, 1) != FI_SUCCESS)
			continue;
		if (n < 0)
			return EAGAIN;
		if (event == FI_CONNREQ) {
			int error = take_in(l, entry->info, entry->data, (size_t)n - sizeof(*entry),
					    connection);

			library.freeinfo(entry->info);
			return error;
		}
	}
}

void ofi_listener_close(struct ofi_listener *l)
{
	struct fid *all[] = {l->pep ? &l->pep->fid : NULL, l->eq ? &l->eq->fid : NULL,
			     l->domain ? &l->domain->fid : NULL,
			     l->fabric ? &l->fabric->fid : NULL};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i])
			fi_close(all[i]);
	free(l);
}

#else

static int left_out(char why[OFI_WHY])
{
	snprintf(why, OFI_WHY, "this build has no ofi transport: libfabric-dev was not installed");
	return EPROTONOSUPPORT;
}

int ofi_connect(struct ofi **connection, const char *where, int64_t due, char why[OFI_WHY])
{
	(void)where;
	(void)due;
	*connection = NULL;
	return left_out(why);
}

int ofi_listen(struct ofi_listener **listener, const char *where, char address[OFI_ADDRESS],
	       char why[OFI_WHY])
{
	(void)where;
	(void)address;
	*listener = NULL;
	return left_out(why);
}

/* There is no connection and no listener for the others. */
int ofi_descriptor(struct ofi *o)
{
	(void)o;
	return -1;
}

void ofi_watch(struct ofi *o, bool receive, bool send)
{
	(void)o;
	(void)receive;
	(void)send;
}

ssize_t ofi_send(struct ofi *o, const struct iovec *part, int parts)
{
	(void)o;
	(void)part;
	(void)parts;
	return -EPROTONOSUPPORT;
}

ssize_t ofi_receive(struct ofi *o, void *to, size_t room)
{
	(void)o;
	(void)to;
	(void)room;
	return -EPROTONOSUPPORT;
}

void ofi_close(struct ofi *o)
{
	(void)o;
}

int ofi_listener_descriptor(const struct ofi_listener *l)
{
	(void)l;
	return -1;
}

int ofi_accept(struct ofi_listener *l, struct ofi **connection)
{
	(void)l;
	*connection = NULL;
	return EAGAIN;
}

void ofi_listener_close(struct ofi_listener *l)
{
	(void)l;
}
#endif
