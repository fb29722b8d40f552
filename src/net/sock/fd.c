/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The making of sockets. Every socket leaves here non-blocking, close-on-exec, without
 * Nagle, and bound to the address of its NIC.
 */
#include "net/sock/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ownfd.h"
#include "net/sock/path.h"
#include "net/sock/sock.h"

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif
#ifndef TCP_RTO_MIN_US
#define TCP_RTO_MIN_US 45 /* Linux 6.15 and later */
#endif

#define ADDR_TEXT     64
#define NOTSENT_LOWAT (512 << 10)

/* An idle channel that a firewall has forgotten, or whose peer host has gone, is noticed before it is
 * needed: 5 s without a word, then three questions. */
#define KEEP_IDLE_S  5
#define KEEP_EVERY_S 2
#define KEEP_TIMES   3
#define TURNED_AWAY   64 /* most connections refused in a call */

/* The least time after which a lost packet with nothing behind it is sent again; the kernel's own is 200 ms.
 * A peer's kernel may delay an acknowledgement for 40 ms (docs/decisions/034-resent-sooner.md). */
#define LOST_US 50000

union sockaddr_any {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static socklen_t
sockaddr_from(const struct tcpx_addr *a, union sockaddr_any *sa)
{
	memset(sa, 0, sizeof(*sa));
	if (a->family == 4) {
		sa->in.sin_family = AF_INET;
		sa->in.sin_port = htons(a->port);
		memcpy(&sa->in.sin_addr, a->ip, 4);
		return sizeof(sa->in);
	}
	sa->in6.sin6_family = AF_INET6;
	sa->in6.sin6_port = htons(a->port);
	sa->in6.sin6_scope_id = a->scope;
	memcpy(&sa->in6.sin6_addr, a->ip, 16);
	return sizeof(sa->in6);
}

/* An IPv6 listener reports IPv4 peers as mapped addresses; this makes them IPv4 again. */
static void
sockaddr_to(const union sockaddr_any *sa, struct tcpx_addr *a)
{
	*a = (struct tcpx_addr){ 0 };
	if (sa->sa.sa_family == AF_INET) {
		a->family = 4;
		a->port = ntohs(sa->in.sin_port);
		memcpy(a->ip, &sa->in.sin_addr, 4);
		return;
	}
	a->port = ntohs(sa->in6.sin6_port);
	a->family = 6;
	a->scope = sa->in6.sin6_scope_id;
	memcpy(a->ip, &sa->in6.sin6_addr, 16);
	(void)tcpx_addr_unmap(a);
}

/* The address of a NIC; of one that had none when the engine opened: what it has now. -EADDRNOTAVAIL:
 * nothing, not logged. */
static int
own_address(const struct tcpx_nic *nic, struct tcpx_addr *own)
{
	int family = nic->addr.family == 4 ? AF_INET : AF_INET6;
	struct ifaddrs *all;

	*own = nic->addr;
	if (!tcpx_addr_is_wild(own))
		return 0;
	if (getifaddrs(&all) < 0)
		return tcpx_fail_errno(TCPX_SUB_NET, "addresses of %s", nic->name);
	for (const struct ifaddrs *ifa = all; ifa; ifa = ifa->ifa_next) {
		if (!ifa->ifa_addr || ifa->ifa_addr->sa_family != family ||
		    strcmp(ifa->ifa_name, nic->name) != 0)
			continue;
		sockaddr_to((const void *)ifa->ifa_addr, own);
		if (!tcpx_addr_is_link_local(own))
			break;
		*own = nic->addr;
	}
	freeifaddrs(all);
	return tcpx_addr_is_wild(own) ? -EADDRNOTAVAIL : 0;
}

static int
set_int(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

bool
tcpx_sock_later(int err)
{
	return err == EAGAIN || err == EWOULDBLOCK || err == EINTR;
}

const struct tcpx_nic *
tcpx_sock_nic(const struct tcpx_net *net, int nic)
{
	if (nic >= 0 && (uint32_t)nic < net->nic_count)
		return &net->nics[nic];
	tcpx_fail(TCPX_SUB_NET, -EINVAL, "NIC %d: there are %u", nic, net->nic_count);
	return NULL;
}

/* A kernel that does not know of it, or is set to less, keeps what it has. A route's rto_min goes first. */
static void
resend_soon(int fd)
{
	int us = 0;
	socklen_t len = sizeof(us);

	if (getsockopt(fd, IPPROTO_TCP, TCP_RTO_MIN_US, &us, &len) == 0 && us > LOST_US)
		(void)set_int(fd, IPPROTO_TCP, TCP_RTO_MIN_US, LOST_US);
}

static int
socket_open(const struct tcpx_nic *nic, const struct tcpx_addr *addr, int *out)
{
	int rc, fd;

	if (addr->family != 4 && addr->family != 6)
		return tcpx_fail(TCPX_SUB_NET, -EAFNOSUPPORT,
				 "address of family %u: 4 or 6 wanted", addr->family);
	fd = socket(addr->family == 4 ? AF_INET : AF_INET6,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	if (fd < 0)
		return tcpx_fail_errno(TCPX_SUB_NET, "IPv%u socket", addr->family);
	tcpx_ownfd_add(fd);
	if (set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1) < 0) {
		rc = tcpx_fail_errno(TCPX_SUB_NET, "TCP_NODELAY");
		goto close_fd;
	}
	resend_soon(fd);
	if (nic && nic->bind_device &&
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, nic->name,
		       (socklen_t)strnlen(nic->name, sizeof(nic->name))) < 0) {
		if (errno != EPERM) {
			rc = tcpx_fail_errno(TCPX_SUB_NET, "bind to device %s", nic->name);
			goto close_fd;
		}
		tcpx_debug(TCPX_SUB_NET, "%s: not allowed to bind to the device, "
			   "the source address must do", nic->name);
	}
	*out = fd;
	return 0;

close_fd:
	tcpx_ownfd_close(fd);
	return rc;
}

/* Neither -EADDRINUSE nor -EADDRNOTAVAIL is logged: another port may do, or another
 * address. */
static int
listen_at(const struct tcpx_nic *nic, const struct tcpx_addr *addr, int *out)
{
	char text[ADDR_TEXT];
	union sockaddr_any sa;
	socklen_t len = sockaddr_from(addr, &sa);
	int rc, fd;

	rc = socket_open(nic, addr, &fd);
	if (rc)
		return rc;
	tcpx_addr_format(addr, text, sizeof(text));
	/* Before bind() only for a port that is named: else two processes that ask at one time
	 * could be given the same one. Connections need it in any case, to be no hindrance to
	 * the next listener. */
	if ((addr->port && set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0) ||
	    bind(fd, &sa.sa, len) < 0 || set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0 ||
	    listen(fd, SOMAXCONN) < 0) {
		rc = errno == EADDRINUSE || errno == EADDRNOTAVAIL ?
			     -errno : tcpx_fail_errno(TCPX_SUB_NET, "listen on %s", text);
		tcpx_ownfd_close(fd);
		return rc;
	}
	*out = fd;
	return 0;
}

/* The first free port of the net's. */
static int
listen_within(const struct tcpx_net *net, const struct tcpx_nic *nic, struct tcpx_addr addr,
	      int *out)
{
	char text[ADDR_TEXT];
	int rc = -EADDRINUSE;

	for (uint32_t port = net->port_first; rc == -EADDRINUSE && port <= net->port_last; port++) {
		addr.port = (uint16_t)port;
		rc = listen_at(nic, &addr, out);
	}
	if (rc != -EADDRINUSE)
		return rc;
	addr.port = 0;
	tcpx_addr_format(&addr, text, sizeof(text));
	return tcpx_fail(TCPX_SUB_NET, TCPX_ELIMIT, "no port of TCPX_PORTS=%u-%u is free at %s",
			 net->port_first, net->port_last, text);
}

int
tcpx_sock_listen_fd(const struct tcpx_net *net, const struct tcpx_nic *nic,
		    const struct tcpx_addr *addr, struct tcpx_addr *bound, int *out)
{
	union sockaddr_any sa;
	socklen_t len = sizeof(sa);
	struct tcpx_addr at = *addr;
	int fd, rc = nic ? own_address(nic, &at) : 0;

	if (rc)
		return rc;
	at.port = addr->port;
	if (at.port == 0 && net->port_first)
		rc = listen_within(net, nic, at, &fd);
	else
		rc = listen_at(nic, &at, &fd);
	if (rc)
		return rc;
	if (getsockname(fd, &sa.sa, &len) < 0) {
		rc = tcpx_fail_errno(TCPX_SUB_NET, "address of a listener");
		tcpx_ownfd_close(fd);
		return rc;
	}
	sockaddr_to(&sa, bound);
	*out = fd;
	return 0;
}

int
tcpx_sock_connect_fd(const struct tcpx_nic *nic, const struct tcpx_addr *to, uint16_t packet,
		     int *out)
{
	struct tcpx_addr own = { 0 };
	char text[ADDR_TEXT];
	union sockaddr_any sa;
	socklen_t len;
	int rc, fd;

	tcpx_addr_format(to, text, sizeof(text));
	if (nic && nic->addr.family != to->family)
		return tcpx_fail(TCPX_SUB_NET, -EAFNOSUPPORT,
				 "connect from %s (IPv%u) to %s: families differ", nic->name,
				 nic->addr.family, text);
	rc = nic ? own_address(nic, &own) : 0;
	if (rc == 0)
		rc = socket_open(nic, to, &fd);
	if (rc)
		return rc;
	if (nic) {
		len = sockaddr_from(&own, &sa);
		/* without it bind() takes a port that no other connection uses; those are few */
		set_int(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
		if (bind(fd, &sa.sa, len) < 0) {
			rc = tcpx_fail_errno(TCPX_SUB_NET, "bind to the address of %s",
					     nic->name);
			goto close_fd;
		}
	}
	tcpx_sock_limit(fd, to, packet);
	len = sockaddr_from(to, &sa);
	/* a scope id is local to a host: a link-local peer is on the link of the NIC */
	if (nic && to->family == 6 && IN6_IS_ADDR_LINKLOCAL(&sa.in6.sin6_addr))
		sa.in6.sin6_scope_id = own.scope;
	if (connect(fd, &sa.sa, len) < 0 && errno != EINPROGRESS) {
		rc = -errno;
		tcpx_debug(TCPX_SUB_NET, "connect to %s: %s", text, tcpx_err_name(rc));
		goto close_fd;
	}
	*out = fd;
	return 0;

close_fd:
	tcpx_ownfd_close(fd);
	return rc;
}

/* A socket that draws its own peer's port as its local port connects to itself. */
static bool
connected_to_itself(int fd)
{
	union sockaddr_any local, peer;
	socklen_t local_len = sizeof(local), peer_len = sizeof(peer);
	struct tcpx_addr a, b;

	if (getsockname(fd, &local.sa, &local_len) < 0 ||
	    getpeername(fd, &peer.sa, &peer_len) < 0)
		return false;
	sockaddr_to(&local, &a);
	sockaddr_to(&peer, &b);
	return a.port == b.port && !memcmp(a.ip, b.ip, sizeof(a.ip));
}

int
tcpx_sock_connected(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int err = 0;
	socklen_t len = sizeof(err);

	if (poll(&p, 1, 0) <= 0)
		return -EAGAIN;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	else if (!err && connected_to_itself(fd))
		err = ECONNREFUSED;
	if (err)
		tcpx_debug(TCPX_SUB_NET, "connect: %s", tcpx_err_name(-err));
	return -err;
}

/* Without a descriptor for it the connection stays in the queue and its listener ready. -EAGAIN:
 * refused with the spare one. -EMFILE: there is none, or another thread took it. */
static int
accept_shed(int listen_fd, int *spare)
{
	int fd;

	if (*spare >= 0)
		close(*spare);
	fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	*spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	tcpx_warn(TCPX_SUB_NET, "no file descriptor left: a connection %s",
		  fd >= 0 ? "was refused" : "waits");
	return fd >= 0 ? -EAGAIN : -EMFILE;
}

int
tcpx_sock_accept_fd(const struct tcpx_net *net, int listen_fd, int *spare,
		    struct tcpx_addr *from, int *out)
{
	for (int i = 0; i < TURNED_AWAY; i++) {
		union sockaddr_any sa;
		socklen_t len = sizeof(sa);
		int fd;

		fd = accept4(listen_fd, &sa.sa, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE))
			return accept_shed(listen_fd, spare);
		if (fd < 0) /* also for a connection that has failed: accept4() returns its error */
			return -EAGAIN;
		sockaddr_to(&sa, from);
		if (!net->gate.admits || net->gate.admits(net->gate.arg, from)) {
			set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
			tcpx_ownfd_add(fd);
			*out = fd;
			return 0;
		}
		close(fd);
	}
	return -EAGAIN; /* the rest in the next turn */
}

void
tcpx_sock_name(int fd, struct tcpx_addr *at)
{
	union sockaddr_any sa;
	socklen_t len = sizeof(sa);

	*at = (struct tcpx_addr){ 0 };
	if (getsockname(fd, &sa.sa, &len) == 0)
		sockaddr_to(&sa, at);
}

void
tcpx_sock_far(int fd, struct tcpx_addr *at)
{
	union sockaddr_any sa;
	socklen_t len = sizeof(sa);

	*at = (struct tcpx_addr){ 0 };
	if (getpeername(fd, &sa.sa, &len) == 0)
		sockaddr_to(&sa, at);
}

/* Both ends have the same address, or loopback addresses: both are on this host. */
static bool
stays_here(int fd)
{
	struct tcpx_addr here, there;

	tcpx_sock_name(fd, &here);
	tcpx_sock_far(fd, &there);
	if (tcpx_addr_is_loopback(&here) && tcpx_addr_is_loopback(&there))
		return true;
	return here.family && tcpx_addr_same_host(&here, &there);
}

static int
congestion_set(int fd, const char *name)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name));
}

/* "reno cubic": those the kernel has, or those that a process without rights may choose. */
static void
congestion_allowed(bool all, char *text, size_t cap)
{
	int fd = open(all ? "/proc/sys/net/ipv4/tcp_available_congestion_control"
			  : "/proc/sys/net/ipv4/tcp_allowed_congestion_control",
		      O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, cap - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

int
tcpx_sock_congestion_check(const char *name)
{
	char allowed[256];
	int fd, rc = 0;

	if (!name[0])
		return 0;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (fd < 0)
		fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (fd < 0)
		return tcpx_fail_errno(TCPX_SUB_NET, "socket for TCPX_CONGESTION");
	if (congestion_set(fd, name) < 0) {
		rc = -errno;
		congestion_allowed(rc != -EPERM, allowed, sizeof(allowed));
		rc = tcpx_fail(TCPX_SUB_NET, -EINVAL, "TCPX_CONGESTION '%s': %s; allowed here: %s",
			       name, rc == -EPERM ? "needs CAP_NET_ADMIN"
						  : "not a congestion control of this kernel",
			       allowed[0] ? allowed : "unknown");
	}
	close(fd);
	return rc;
}

void
tcpx_sock_congestion(int fd, char *name, size_t cap)
{
	socklen_t len = (socklen_t)cap - 1;

	memset(name, 0, cap);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) < 0)
		name[0] = '\0';
}

int
tcpx_sock_tune(int fd, const char *congestion)
{
	if (congestion[0] && congestion_set(fd, congestion) < 0)
		return tcpx_fail_errno(TCPX_SUB_NET, "TCP_CONGESTION %s", congestion);
	/* Within a host nothing is congested, and others leave slow start early or pace by timers
	 * (docs/decisions/010-reno-on-one-host.md). */
	if (!congestion[0] && stays_here(fd))
		(void)congestion_set(fd, "reno");
	if (set_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, NOTSENT_LOWAT) < 0)
		return tcpx_fail_errno(TCPX_SUB_NET, "TCP_NOTSENT_LOWAT %d", NOTSENT_LOWAT);
	if (set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1) < 0 ||
	    set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S) < 0 ||
	    set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_EVERY_S) < 0 ||
	    set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_TIMES) < 0)
		return tcpx_fail_errno(TCPX_SUB_NET, "TCP keep-alive of a channel");
	return 0;
}
