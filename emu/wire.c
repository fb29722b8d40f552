/* SPDX-License-Identifier: Apache-2.0 */
/* Waits are cut into slices of SLICE_MS: closing a comm sets the stop and waits for them. */
#include "emu/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "emu/comm.h"

#define SLICE_MS 10

static bool
over(const struct emu_patience *p)
{
	if (atomic_load(p->stop))
		errno = ECANCELED;
	else if (p->until_ns && emu_now_ns() >= p->until_ns)
		errno = ETIMEDOUT;
	else
		return false;
	return true;
}

static bool
ready(int fd, short events, const struct emu_patience *p)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	while (!over(p)) {
		if (poll(&pfd, 1, SLICE_MS) > 0)
			return true;
	}
	return false;
}

bool
emu_wire_sleep(uint64_t ns, const struct emu_patience *p)
{
	uint64_t end = emu_now_ns() + ns;

	while (!atomic_load(p->stop)) {
		uint64_t now = emu_now_ns(), left = now < end ? end - now : 0;
		struct timespec ts = { 0, left < SLICE_MS * 1000000ll ? (long)left
								     : SLICE_MS * 1000000l };

		if (!left)
			return true;
		nanosleep(&ts, NULL);
	}
	return false;
}

/* A socket at @addr with a port of its own, which is set there; -1: errno. */
static int
bound(struct sockaddr_in *addr, bool listens)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	addr->sin_family = AF_INET;
	addr->sin_port = 0;
	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)addr, sizeof(*addr)) || (listens && listen(fd, 64)) ||
	    getsockname(fd, (struct sockaddr *)addr, &len)) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

int
emu_wire_listen(struct sockaddr_in *addr)
{
	return bound(addr, true);
}

static bool
connected(int fd, const struct sockaddr_in *to, const struct emu_patience *p)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0)
		return true;
	if (errno != EINPROGRESS || !ready(fd, POLLOUT, p))
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error)
		errno = error;
	return error == 0;
}

bool
emu_wire_refused(struct in_addr at, const struct emu_patience *p)
{
	struct sockaddr_in to = { .sin_addr = at };
	int closed = bound(&to, false); /* nobody listens there, and nobody else can */
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool refused = closed >= 0 && fd >= 0 && !connected(fd, &to, p) && errno == ECONNREFUSED;

	if (closed >= 0)
		close(closed);
	if (fd >= 0)
		close(fd);
	return refused;
}

/* A refused connection has no listener yet: retries every 1 ms, as the real plugin. */
int
emu_wire_dial(const struct sockaddr_in *to, const struct in_addr *from,
	      const struct emu_patience *p)
{
	int one = 1, error;

	for (;;) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		struct sockaddr_in local = { .sin_family = AF_INET };

		if (fd < 0)
			return -1;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (from)
			local.sin_addr = *from;
		if ((!from || bind(fd, (struct sockaddr *)&local, sizeof(local)) == 0) &&
		    connected(fd, to, p))
			return fd;
		error = errno;
		close(fd);
		errno = error;
		if (error != ECONNREFUSED || over(p) || !emu_wire_sleep(1000000, p))
			return -1;
	}
}

int
emu_wire_accept(int fd, const struct emu_patience *p)
{
	int one = 1;

	while (ready(fd, POLLIN, p)) {
		int got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (got >= 0) {
			setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			return got;
		}
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			return -1;
	}
	return -1;
}

bool
emu_wire_write(int fd, const void *data, unsigned len, const struct emu_patience *p)
{
	const char *at = data;

	while (len && ready(fd, POLLOUT, p)) {
		ssize_t n = send(fd, at, len, 0);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (n > 0) {
			at += n;
			len -= (unsigned)n;
		}
	}
	return len == 0;
}

bool
emu_wire_read(int fd, void *data, unsigned len, const struct emu_patience *p)
{
	char *at = data;

	while (len && ready(fd, POLLIN, p)) {
		ssize_t n = recv(fd, at, len, 0);

		if (n == 0)
			errno = ECONNRESET;
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		if (n > 0) {
			at += n;
			len -= (unsigned)n;
		}
	}
	return len == 0;
}
