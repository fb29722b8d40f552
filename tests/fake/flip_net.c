/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network that gets a byte wrong, for LD_PRELOAD. FLIP=ours:N changes byte N of what recvmsg()
 * gives on each connection; FLIP=raw:N every N-th byte of each connection whose first message is
 * the 12 bytes that plain sockets begin with, read with a flag. What recv() gives others, as control
 * streams, stays.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { FDS = 1024, HELLO_BYTES = 12 };

static struct {
	bool raw;
	uint64_t got;
} fds[FDS];

static void *
next(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f)
		abort();
	return f;
}

/* A connection begins: by its number of before, which somebody may have closed. */
static void
begin(int fd, size_t first)
{
	if (fd >= 0 && fd < FDS && first == HELLO_BYTES) {
		fds[fd].raw = true;
		fds[fd].got = 0;
	}
}

/* @n bytes have come: changes the one that is to be changed. */
static void
look(int fd, const struct msghdr *m, uint64_t n)
{
	const char *how = getenv("FLIP"), *number = how ? strchr(how, ':') : NULL;
	uint64_t place = number ? strtoull(number + 1, NULL, 10) : 0, from, at;

	if (fd >= FDS || !place)
		return;
	from = fds[fd].got;
	fds[fd].got += n;
	at = fds[fd].raw ? fds[fd].got / place * place : place;
	if (at < from || at >= fds[fd].got || !strncmp(how, "raw:", 4) != fds[fd].raw || !at)
		return;
	at -= from;
	for (size_t i = 0; i < m->msg_iovlen; i++) {
		if (at < m->msg_iov[i].iov_len) {
			((uint8_t *)m->msg_iov[i].iov_base)[at]++; /* an echo may pass here twice */
			return;
		}
		at -= m->msg_iov[i].iov_len;
	}
}

ssize_t
recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t (*real)(int, struct msghdr *, int);
	ssize_t n;

	*(void **)&real = next("recvmsg");
	n = real(fd, m, flags);
	if (n > 0 && !(flags & (MSG_ERRQUEUE | MSG_PEEK)))
		look(fd, m, (uint64_t)n);
	return n;
}

ssize_t
recv(int fd, void *data, size_t len, int flags)
{
	ssize_t (*real)(int, void *, size_t, int);

	struct iovec whole = { data, len };
	const struct msghdr m = { .msg_iov = &whole, .msg_iovlen = 1 };
	ssize_t n;

	*(void **)&real = next("recv");
	if (flags & (MSG_WAITALL | MSG_DONTWAIT))
		begin(fd, len);
	n = real(fd, data, len, flags);
	if (n > 0 && !flags && fd < FDS && fds[fd].raw)
		look(fd, &m, (uint64_t)n);
	return n;
}

ssize_t
send(int fd, const void *data, size_t len, int flags)
{
	ssize_t (*real)(int, const void *, size_t, int);

	*(void **)&real = next("send");
	begin(fd, len);
	return real(fd, data, len, flags);
}

int
close(int fd)
{
	int (*real)(int);

	*(void **)&real = next("close");
	if (fd >= 0 && fd < FDS)
		memset(&fds[fd], 0, sizeof(fds[fd]));
	return real(fd);
}
