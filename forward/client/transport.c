/* Unix sockets, TCP, and libfabric by ofi.h. */
#include "transport.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "ofi.h"

int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int wait_fd(int fd, short events, int64_t due)
{
	struct pollfd p = {.fd = fd, .events = events};

	for (;;) {
		int64_t left = due - now_ms();
		int n = poll(&p, 1, left > 0 ? (int)(left < INT32_MAX ? left : INT32_MAX) : 0);

		if (n > 0)
			return 0;
		if (n == 0 && left <= 0)
			return ETIMEDOUT;
		if (n < 0 && errno != EINTR)
			return errno;
	}
}

int raise_fd(int fd, uint32_t lowest)
{
	int raised = fd < 0 || !lowest ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, (int)lowest);

	if (raised < 0)
		return fd;
	close(fd);
	return raised;
}

static ssize_t socket_send(struct link *link, const struct iovec *part, int parts)
{
	struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)part,
				 .msg_iovlen = (size_t)parts};
	ssize_t n;

	do
		n = sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t socket_receive(struct link *link, void *to, size_t room)
{
	ssize_t n;

	do
		n = recv(link->fd, to, room, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static void socket_close(struct link *link)
{
	close(link->fd);
	link->fd = -1;
}

/* Connects a new non-blocking socket; it is closed again on an error. */
static int connect_by(struct link *link, const struct sockaddr *address, socklen_t length,
		      int64_t due)
{
	int error = 0;
	socklen_t size = sizeof(error);

	link->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (link->fd < 0)
		return errno;
	while (connect(link->fd, address, length) && errno == EAGAIN && now_ms() < due)
		poll(NULL, 0, 1); /* the Unix socket's queue of connections is full */
	if (errno == EINPROGRESS || errno == EINTR) {
		error = wait_fd(link->fd, POLLOUT, due);
		if (!error && getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size))
			error = errno;
	} else {
		error = errno;
	}
	if (error)
		socket_close(link);
	return error;
}

/* Who listens must be us: another user's server could take our data. */
static int check_peer(const struct link *link)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(link->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return errno;
	return peer.uid == geteuid() ? 0 : EACCES;
}

static int unix_open(struct link *link, const char *path, int64_t due, char *why)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int error;

	(void)why;
	if (strlen(path) >= sizeof(address.sun_path))
		return ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	errno = 0;
	error = connect_by(link, (struct sockaddr *)&address, sizeof(address), due);
	if (!error && (error = check_peer(link)))
		socket_close(link);
	return error;
}

static int tcp_open(struct link *link, const char *where, int64_t due, char *why)
{
	struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *addresses;
	const char *port = NULL;
	char host[256];
	int on = 1, error = split_host(where, host, sizeof(host), &port);

	(void)why;
	if (error)
		return error;
	if (getaddrinfo(host, port, &want, &addresses))
		return EHOSTUNREACH;
	for (struct addrinfo *a = addresses; a; a = a->ai_next) {
		errno = 0;
		error = connect_by(link, a->ai_addr, a->ai_addrlen, due);
		if (!error)
			break;
	}
	freeaddrinfo(addresses);
	if (!error)
		setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return error;
}

static int libfabric_open(struct link *link, const char *where, int64_t due, char *why)
{
	struct ofi *o;
	int error = ofi_connect(&o, where, due, why);

	if (error)
		return error;
	link->state = o;
	link->fd = ofi_descriptor(o);
	return 0;
}

static ssize_t libfabric_send(struct link *link, const struct iovec *part, int parts)
{
	return ofi_send(link->state, part, parts);
}

static ssize_t libfabric_receive(struct link *link, void *to, size_t room)
{
	return ofi_receive(link->state, to, room);
}

static short libfabric_events(struct link *link, short events)
{
	ofi_watch(link->state, events & POLLIN, events & POLLOUT);
	return POLLIN;
}

static void libfabric_close(struct link *link)
{
	ofi_close(link->state);
	close(link->fd);
	link->fd = -1;
}

static const struct transport over_unix = {.scheme = "unix:",
					   .open = unix_open,
					   .send = socket_send,
					   .receive = socket_receive,
					   .close = socket_close};
static const struct transport over_tcp = {.scheme = "tcp:",
					  .open = tcp_open,
					  .send = socket_send,
					  .receive = socket_receive,
					  .close = socket_close};
static const struct transport over_libfabric = {.scheme = "ofi",
						.open = libfabric_open,
						.send = libfabric_send,
						.receive = libfabric_receive,
						.events = libfabric_events,
						.close = libfabric_close};

const struct transport *fwd_transports[TRANSPORTS] = {&over_unix, &over_tcp, &over_libfabric};

int link_open(struct link *link, const char *address, int64_t due, char why[TRANSPORT_WHY])
{
	for (int i = 0; i < TRANSPORTS; i++) {
		const struct transport *t = fwd_transports[i];
		size_t scheme = t ? strlen(t->scheme) : 0;

		if (!t || strncmp(address, t->scheme, scheme) != 0)
			continue;
		*link = (struct link){.transport = t, .fd = -1};
		return t->open(link, address + scheme, due, why);
	}
	return EINVAL;
}

short link_events(struct link *link, short events)
{
	return link->transport->events ? link->transport->events(link, events) : events;
}
