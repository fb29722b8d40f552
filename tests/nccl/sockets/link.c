/* SPDX-License-Identifier: Apache-2.0 */
/* NICs, and the sockets of a comm: the handle names an address, each connection says which it is. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sockets.h"

#define DEFAULT_MBPS 10000 /* where the kernel says nothing                                 */

struct handle {
	uint64_t magic;
	struct sockaddr_in addr;
	unsigned sockets, helpers;
	struct dialing *dialing;        /* connect()'s own                                  */
};

/* The first words on a socket: of which handle, and which of its sockets. */
struct hello {
	uint64_t magic;
	uint32_t index;                 /* the control socket is the last                   */
	uint32_t zero;
};

struct dialing {
	struct comm *comm;
	unsigned index;
	int fd;
};

struct arriving {
	struct handle handle;
	int listen, fd;                 /* @fd: has not said its hello yet                  */
	unsigned count;
	struct comm *comm;
};

_Static_assert(sizeof(struct handle) <= NCCL_HANDLE_BYTES, "fits");

/* ---- NICs ------------------------------------------------------------------------ */

/* "eth,ib", "=eth0", "^docker,lo" as NCCL_SOCKET_IFNAME; without it all but these. */
static bool
is_wanted(const char *name)
{
	const char *list = getenv("NCCL_SOCKET_IFNAME");
	bool not, exact, found = false;

	list = list && *list ? list : "^lo,docker,virbr";
	not = *list == '^';
	list += not;
	exact = *list == '=';
	list += exact;
	while (*list) {
		size_t len = strcspn(list, ",");

		found |= strncmp(name, list, len) == 0 && (!exact || name[len] == '\0');
		list += len + (list[len] == ',');
	}
	return found != not;
}

static int
speed(const char *name)
{
	char path[64];
	int mbps = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", name);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &mbps) != 1)
		mbps = 0;
	if (f)
		fclose(f);
	return mbps > 0 ? mbps : DEFAULT_MBPS;
}

static struct {
	struct nic nic[NICS_MAX];
	int count;
	pthread_once_t once;
} nics = { .once = PTHREAD_ONCE_INIT };

static void
find_nics(void)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all))
		return;
	for (struct ifaddrs *a = all; a && nics.count < NICS_MAX; a = a->ifa_next) {
		struct nic *n = &nics.nic[nics.count];

		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP) ||
		    !is_wanted(a->ifa_name))
			continue;
		snprintf(n->name, sizeof(n->name), "%s", a->ifa_name);
		memcpy(&n->addr, a->ifa_addr, sizeof(n->addr));
		n->mbps = speed(n->name);
		nics.count++;
	}
	freeifaddrs(all);
}

enum nccl_result
sockets_devices(int *count)
{
	pthread_once(&nics.once, find_nics);
	*count = nics.count;
	return NCCL_OK;
}

const struct nic *
sockets_nic(int dev)
{
	pthread_once(&nics.once, find_nics);
	return dev >= 0 && dev < nics.count ? &nics.nic[dev] : NULL;
}

/* ---- sockets --------------------------------------------------------------------- */

static unsigned
setting(const char *name, unsigned otherwise, unsigned max)
{
	const char *text = getenv(name);
	unsigned value = text && *text ? (unsigned)strtoul(text, NULL, 0) : otherwise;

	return value < max ? value : max;
}

/* The caller's thread does all unless it is to have helpers. */
static void
read_shape(struct handle *h)
{
	unsigned each = setting("NCCL_NSOCKS_PERTHREAD", 1, SOCKETS_MAX);

	h->helpers = setting("NCCL_SOCKET_NTHREADS", 0, HELPERS_MAX);
	if (h->helpers && each * h->helpers > SOCKETS_MAX)
		each = SOCKETS_MAX / h->helpers;
	h->sockets = each * h->helpers;
}

static int
socket_open(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void
keep(struct comm *c, unsigned index, int fd)
{
	if (index == c->sockets)
		c->ctrl = fd;
	else
		c->fd[index] = fd;
}

enum nccl_result
sockets_listen(void *ctx, int dev, void *handle, void **listen_comm)
{
	const struct nic *nic = sockets_nic(dev);
	struct arriving *a = calloc(1, sizeof(*a));
	socklen_t len = sizeof(a->handle.addr);

	if (!nic || !a) {
		free(a);
		return NCCL_INVALID_ARGUMENT;
	}
	a->fd = -1;
	a->listen = socket_open();
	a->handle.addr = nic->addr;
	a->handle.addr.sin_port = 0;
	read_shape(&a->handle);
	if (a->listen < 0 || bind(a->listen, (struct sockaddr *)&a->handle.addr, len) ||
	    listen(a->listen, SOCKETS_MAX + 1) ||
	    getsockname(a->listen, (struct sockaddr *)&a->handle.addr, &len) ||
	    getrandom(&a->handle.magic, sizeof(a->handle.magic), 0) < 0) {
		sockets_warn("listen on %s: %s", nic->name, strerror(errno));
		sockets_close_listen(a);
		return NCCL_SYSTEM_ERROR;
	}
	memset(handle, 0, NCCL_HANDLE_BYTES);
	memcpy(handle, &a->handle, sizeof(a->handle));
	*listen_comm = a;
	return NCCL_OK;
}

/* ---- connecting ------------------------------------------------------------------ */

/* One socket: begun, connected, or it has said who it is. False: not yet, or *result. */
static bool
dial(const struct handle *h, struct dialing *d, enum nccl_result *result)
{
	struct hello hello = { .magic = h->magic, .index = d->index };
	struct pollfd p = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0;

	if (d->fd < 0) {
		d->fd = socket_open();
		if (connect(d->fd, (const struct sockaddr *)&h->addr, sizeof(h->addr)) &&
		    errno != EINPROGRESS)
			err = errno;
	}
	p.fd = d->fd;
	if (!err && poll(&p, 1, 0) <= 0)
		return false;
	if (!err && (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &err, &len) || err == 0) &&
	    send(d->fd, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
		err = errno;
	if (!err)
		return true;
	sockets_warn("connecting to port %u failed: %s", ntohs(h->addr.sin_port), strerror(err));
	*result = NCCL_REMOTE_ERROR;
	return false;
}

enum nccl_result
sockets_connect(void *handle, void **send_comm)
{
	struct handle *h = handle;
	struct dialing *d = h->dialing;
	enum nccl_result result = NCCL_OK;

	*send_comm = NULL;
	if (!d) {
		d = h->dialing = calloc(1, sizeof(*d));
		if (!d)
			return NCCL_SYSTEM_ERROR;
		d->fd = -1;
		d->comm = sockets_comm_new(true, h->sockets, h->helpers);
		if (!d->comm)
			return NCCL_SYSTEM_ERROR;
	}
	while (d->index <= d->comm->sockets && dial(h, d, &result)) {
		keep(d->comm, d->index++, d->fd);
		d->fd = -1;
	}
	if (!result && d->index <= d->comm->sockets)
		return NCCL_OK;
	h->dialing = NULL;
	if (result && d->fd >= 0)
		close(d->fd);
	if (result)
		sockets_close(d->comm);
	else
		*send_comm = d->comm;
	free(d);
	return result;
}

/* ---- arriving -------------------------------------------------------------------- */

/* One more has said who it is; a stranger is closed. */
static void
meet(struct arriving *a, const struct hello *hello)
{
	int one = 1, *at = NULL;

	if (hello->magic == a->handle.magic && hello->index <= a->comm->sockets)
		at = hello->index == a->comm->sockets ? &a->comm->ctrl : &a->comm->fd[hello->index];
	if (at && *at < 0) {
		setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		*at = a->fd;
		a->count++;
	} else {
		close(a->fd);
	}
	a->fd = -1;
}

static bool
arrive(struct arriving *a)
{
	struct hello hello;
	ssize_t n;

	if (a->fd < 0)
		a->fd = accept4(a->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (a->fd < 0)
		return false;
	n = recv(a->fd, &hello, sizeof(hello), MSG_PEEK);
	if (n > 0 && n < (ssize_t)sizeof(hello))
		return false;
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n == (ssize_t)sizeof(hello))
		n = recv(a->fd, &hello, sizeof(hello), 0);
	else
		hello.magic = 0;
	meet(a, &hello);
	return true;
}

enum nccl_result
sockets_accept(void *listen_comm, void **recv_comm)
{
	struct arriving *a = listen_comm;

	*recv_comm = NULL;
	if (!a->comm)
		a->comm = sockets_comm_new(false, a->handle.sockets, a->handle.helpers);
	if (!a->comm)
		return NCCL_SYSTEM_ERROR;
	while (a->count <= a->comm->sockets)
		if (!arrive(a))
			return NCCL_OK;
	*recv_comm = a->comm;
	a->comm = NULL;
	a->count = 0;
	return NCCL_OK;
}

enum nccl_result
sockets_close_listen(void *listen_comm)
{
	struct arriving *a = listen_comm;

	if (a->comm)
		sockets_close(a->comm);
	if (a->fd >= 0)
		close(a->fd);
	if (a->listen >= 0)
		close(a->listen);
	free(a);
	return NCCL_OK;
}
