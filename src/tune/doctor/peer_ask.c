/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/doctor/peer_ask.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "net/sock/fd.h"

uint64_t
peer_ask_end(unsigned ms)
{
	return tcpx_clock_now(&tcpx_clock_system) + ms * TCPX_MS;
}

/* After a call that would have waited. False: it failed, or it is late. */
static bool
await(int fd, short events, uint64_t end_ns)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system);
	struct pollfd p = { .fd = fd, .events = events };

	if (!tcpx_sock_later(errno) || now >= end_ns)
		return false;
	return poll(&p, 1, (int)((end_ns - now) / TCPX_MS) + 1) >= 0 || errno == EINTR;
}

/* A call for each packet: several in one call could leave as one large packet that a card,
 * or the next machine's kernel, cuts. */
bool
peer_ask_send(int fd, const struct peer_ask *ask, uint64_t end_ns)
{
	uint32_t total = ask->bytes > sizeof(struct reach_question) ? ask->bytes :
								    sizeof(struct reach_question);
	struct reach_question q = { htobe64(ask->token), htonl(total - (uint32_t)sizeof(q)),
				    htonl(ask->want), htons(ask->port) };
	uint32_t sent = 0;

	while (sent < total) {
		uint32_t len = ask->piece > sizeof(q) ? ask->piece - sent % ask->piece : sizeof(q);
		uint32_t head = sent < sizeof(q) ? (uint32_t)sizeof(q) - sent : 0;
		struct iovec iov[2] = { { (char *)&q + (sizeof(q) - head), head } };
		struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
		ssize_t n;

		if (len > total - sent)
			len = total - sent;
		iov[1] = (struct iovec){ (char *)reach_fill, len > head ? len - head : 0 };
		n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0)
			sent += (uint32_t)n;
		else if (!await(fd, POLLOUT, end_ns))
			return false;
	}
	return true;
}

bool
peer_ask_hear(int fd, const struct peer_ask *ask, struct reach_answer *out, uint64_t end_ns)
{
	size_t got = 0, all = sizeof(*out) + ask->want;

	while (got < all) {
		bool head = got < sizeof(*out);
		ssize_t n = recv(fd, head ? (char *)out + got : NULL,
				 head ? sizeof(*out) - got : all - got,
				 MSG_DONTWAIT | (head ? 0 : MSG_TRUNC));

		if (n == 0)
			return false;
		if (n > 0)
			got += (size_t)n;
		else if (!await(fd, POLLIN, end_ns))
			return false;
	}
	out->to[sizeof(out->to) - 1] = '\0';
	return true;
}
