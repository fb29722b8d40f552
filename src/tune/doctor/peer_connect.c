/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/doctor/peer_connect.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ownfd.h"
#include "net/sock/fd.h"
#include "tool/reach.h"

void
attempt_nic(const struct tcpx_host_nic *from, struct tcpx_nic *nic)
{
	*nic = (struct tcpx_nic){ .addr = from->addr, .bind_device = tcpx_host_nic_binds(from) };
	memcpy(nic->name, from->name, sizeof(nic->name));
	nic->addr.port = 0;
}

void
attempt_start(const struct tcpx_nic *nic, const struct tcpx_addr *to, struct attempt *a)
{
	int rc = tcpx_sock_connect_fd(nic, to, 0, &a->fd);

	a->error = rc ? -rc : EINPROGRESS;
	if (rc)
		a->fd = -1;
}

static unsigned
look(struct attempt *a, unsigned count, struct pollfd *fds)
{
	unsigned open = 0;

	for (unsigned i = 0; i < count; i++) {
		int rc = a[i].error == EINPROGRESS ? tcpx_sock_connected(a[i].fd) : -a[i].error;

		a[i].error = rc == -EAGAIN ? EINPROGRESS : -rc;
		fds[i] = (struct pollfd){ rc == -EAGAIN ? a[i].fd : -1, POLLOUT, 0 };
		open += rc == -EAGAIN;
	}
	return open;
}

void
attempts_finish(struct attempt *a, unsigned count)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system), end = now + REACH_TRY_MS * TCPX_MS;
	struct pollfd *fds = calloc(count + 1, sizeof(*fds));

	while (fds && look(a, count, fds) && now < end) {
		(void)poll(fds, count, (int)((end - now) / TCPX_MS) + 1);
		now = tcpx_clock_now(&tcpx_clock_system);
	}
	for (unsigned i = 0; i < count; i++)
		if (a[i].error == EINPROGRESS)
			a[i].error = ETIMEDOUT;
	free(fds);
}

void
attempts_close(struct attempt *a, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (a[i].fd >= 0)
			tcpx_ownfd_close(a[i].fd);
}
