/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/doctor/peer_connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool/reach.h"

socklen_t
peer_sockaddr(const struct tcpx_addr *addr, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in *in = (struct sockaddr_in *)out;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (addr->family == 4) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, addr->ip, 4);
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	in6->sin6_scope_id = addr->scope;
	memcpy(&in6->sin6_addr, addr->ip, 16);
	return sizeof(*in6);
}

static void
start(const struct tcpx_addr *from, const struct tcpx_addr *to, uint16_t port, struct attempt *a)
{
	struct sockaddr_storage ss;
	socklen_t len = peer_sockaddr(from, 0, &ss);

	*a = (struct attempt){ .error = EINPROGRESS };
	a->fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (a->fd < 0 || bind(a->fd, (struct sockaddr *)&ss, len) < 0) {
		a->error = errno;
		return;
	}
	len = peer_sockaddr(to, port, &ss);
	a->error = connect(a->fd, (struct sockaddr *)&ss, len) < 0 ? errno : 0;
}

static void
finish(struct attempt *a, unsigned count)
{
	uint64_t end = tcpx_clock_now(&tcpx_clock_system) + REACH_TRY_MS * TCPX_MS;
	struct pollfd fds[PEERS_MAX];

	for (;;) {
		uint64_t now = tcpx_clock_now(&tcpx_clock_system);
		unsigned open = 0;

		for (unsigned i = 0; i < count; i++) {
			fds[i] = (struct pollfd){ a[i].error == EINPROGRESS ? a[i].fd : -1, POLLOUT, 0 };
			open += a[i].error == EINPROGRESS;
		}
		if (!open || now >= end)
			return;
		if (poll(fds, count, (int)((end - now) / TCPX_MS) + 1) <= 0)
			continue;
		for (unsigned i = 0; i < count; i++) {
			socklen_t len = sizeof(a[i].error);

			if (fds[i].revents && getsockopt(a[i].fd, SOL_SOCKET, SO_ERROR, &a[i].error,
							 &len) < 0)
				a[i].error = errno;
		}
	}
}

void
attempts_make(const struct tcpx_addr *from, const struct peer_addr *peer, unsigned count,
	      const bool *want, uint16_t port, struct attempt a[PEERS_MAX])
{
	for (unsigned i = 0; i < count; i++) {
		a[i] = (struct attempt){ .fd = -1, .error = EAFNOSUPPORT };
		if (peer[i].addr.family == from->family && (!want || want[i]))
			start(from, &peer[i].addr, port ? port : peer[i].port, &a[i]);
	}
	finish(a, count);
}

void
attempts_close(struct attempt *a, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (a[i].fd >= 0)
			close(a[i].fd);
}
