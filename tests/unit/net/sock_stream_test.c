/* SPDX-License-Identifier: Apache-2.0 */
/* Control streams over 127.0.0.1: connection, echo, end, refusal, addresses in use. */
#include "sock_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ownfd.h"
#include "net/sock/fd.h"

static struct ifaddrs *machine; /* the addresses of its NICs; NULL: the real ones */

int __real_getifaddrs(struct ifaddrs **all);
int __wrap_getifaddrs(struct ifaddrs **all);
void __real_freeifaddrs(struct ifaddrs *all);
void __wrap_freeifaddrs(struct ifaddrs *all);

int
__wrap_getifaddrs(struct ifaddrs **all)
{
	*all = machine;
	return machine ? 0 : __real_getifaddrs(all);
}

void
__wrap_freeifaddrs(struct ifaddrs *all)
{
	if (!machine)
		__real_freeifaddrs(all);
}

static struct tcpx_stream *
listen_any(struct rig *r, struct tcpx_addr *bound)
{
	struct tcpx_stream *l;
	struct tcpx_addr any;

	assert_int_equal(tcpx_addr_parse("127.0.0.1:0", &any), 0);
	assert_int_equal(r->ops->listen(r->net, &any, bound, &l), 0);
	assert_int_not_equal(bound->port, 0);
	return l;
}

/* A connected pair, by way of the poller. */
static void
stream_pair(struct rig *r, struct tcpx_stream **near, struct tcpx_stream **far)
{
	uint64_t deadline = rig_deadline();
	struct tcpx_addr to, from, at;
	struct tcpx_stream *l = listen_any(r, &to);
	int rc;

	assert_int_equal(r->ops->stream_watch(l, r->poller, l, TCPX_READABLE), 0);
	assert_int_equal(r->ops->connect(r->net, 0, &to, 0, near), 0);
	while ((rc = r->ops->accept(l, far, &from, &at)) == -EAGAIN)
		rig_pause(r, deadline);
	assert_int_equal(rc, 0);
	assert_int_equal(from.family, 4);
	assert_memory_equal(from.ip, r->nic.addr.ip, 4);
	while ((rc = r->ops->stream_send(*near, NULL, 0)) == -EAGAIN)
		rig_pause(r, deadline);
	assert_int_equal(rc, 0);
	assert_int_equal(r->ops->stream_send(*far, NULL, 0), 0);
	assert_int_equal(r->ops->accept(l, far, &from, &at), -EAGAIN);
	r->ops->stream_close(l);
}

static ssize_t
recv_some(struct rig *r, struct tcpx_stream *s, void *data, size_t len)
{
	uint64_t deadline = rig_deadline();
	ssize_t n;

	while ((n = r->ops->stream_recv(s, data, len)) == -EAGAIN)
		rig_pause(r, deadline);
	return n;
}

TEST_WITH(stream_echoes_and_ends, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_stream *near, *far;
	struct tcpx_addr at;
	char text[16];

	stream_pair(r, &near, &far);
	r->ops->stream_name(near, &at);
	assert_int_equal(at.family, 4);
	assert_memory_equal(at.ip, r->nic.addr.ip, 4);
	assert_int_equal(r->ops->stream_recv(far, text, sizeof(text)), -EAGAIN);
	assert_int_equal(r->ops->stream_send(near, "hello", 5), 5);
	assert_int_equal(recv_some(r, far, text, sizeof(text)), 5);
	assert_memory_equal(text, "hello", 5);
	assert_int_equal(r->ops->stream_send(far, text, 5), 5);
	assert_int_equal(recv_some(r, near, text, sizeof(text)), 5);
	r->ops->stream_close(near);
	assert_int_equal(recv_some(r, far, text, sizeof(text)), 0);
	r->ops->stream_close(far);
	assert_int_equal(r->warnings, 0);
}

TEST_WITH(stream_tells_when_it_is_ready, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_stream *near, *far;
	struct tcpx_net_event ev[4];
	char text[4];

	stream_pair(r, &near, &far);
	assert_int_equal(r->ops->stream_watch(far, r->poller, &far, TCPX_READABLE), 0);
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 4, 0), 0);
	assert_int_equal(r->ops->stream_send(near, "x", 1), 1);
	for (int i = 0; i < 2; i++) { /* level-triggered: again, as long as it lies there */
		assert_int_equal(r->ops->poller_wait(r->poller, ev, 4, RIG_WAIT_NS), 1);
		assert_ptr_equal(ev[0].owner, &far);
		assert_int_equal(ev[0].ready, TCPX_READABLE);
	}
	assert_int_equal(r->ops->stream_recv(far, text, 4), 1);
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 4, 0), 0);
	assert_int_equal(r->ops->stream_watch(far, r->poller, &near, TCPX_WRITABLE), 0);
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 4, RIG_WAIT_NS), 1);
	assert_ptr_equal(ev[0].owner, &near);
	assert_int_equal(ev[0].ready, TCPX_WRITABLE);
	r->ops->stream_close(near);
	r->ops->stream_close(far);
}

TEST_WITH(stream_belongs_to_one_poller, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_stream *near, *far;
	struct tcpx_poller *other;

	stream_pair(r, &near, &far);
	assert_int_equal(r->ops->poller_open(r->net, &other), 0);
	assert_int_equal(r->ops->stream_watch(near, r->poller, &near, TCPX_READABLE), 0);
	assert_int_equal(r->ops->stream_watch(near, other, &near, TCPX_READABLE), TCPX_ESTATE);
	r->ops->stream_close(near);
	r->ops->stream_close(far);
	r->ops->poller_close(other);
}

TEST_WITH(send_to_a_closed_stream_gives_a_code, rig_open, rig_close)
{
	struct rig *r = *state;
	uint64_t deadline = rig_deadline();
	struct tcpx_stream *near, *far;
	ssize_t n;

	stream_pair(r, &near, &far);
	r->ops->stream_close(far);
	while ((n = r->ops->stream_send(near, "x", 1)) >= 0)
		rig_pause(r, deadline);
	assert_true(n == -EPIPE || n == -ECONNRESET);
	r->ops->stream_close(near);
}

TEST_WITH(refused_connect_says_so, rig_open, rig_close)
{
	struct rig *r = *state;
	uint64_t deadline = rig_deadline();
	struct tcpx_stream *s;
	struct tcpx_addr to;
	int rc;

	r->ops->stream_close(listen_any(r, &to)); /* a port where nobody is any more */
	assert_int_equal(r->ops->connect(r->net, -1, &to, 0, &s), 0);
	while ((rc = r->ops->stream_send(s, NULL, 0)) == -EAGAIN)
		rig_pause(r, deadline);
	assert_int_equal(rc, -ECONNREFUSED);
	assert_int_equal(r->ops->stream_send(s, NULL, 0), -ECONNREFUSED);
	assert_int_equal(r->ops->stream_send(s, "x", 1), -ECONNREFUSED);
	r->ops->stream_close(s);
	assert_int_equal(r->warnings, 0); /* the caller may try again: not worth a line yet */
}

/* The kernel may draw the dialled port as the local one: then the socket meets itself. */
TEST_WITH(a_socket_that_meets_itself_is_refused, rig_open, rig_close)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(tcpx_sock_connected(fd), -ECONNREFUSED);
	close(fd);
}

/* A NIC that had no address when the engine opened takes one of its own, of its family, which
 * reaches beyond the link. */
TEST_WITH(a_nic_takes_the_address_that_it_has_now, rig_open, rig_close)
{
	struct sockaddr_in other = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000201) };
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 link = { .sin6_family = AF_INET6, .sin6_scope_id = 1,
				     .sin6_addr.s6_addr = { 0xfe, 0x80, [15] = 1 } };
	char eth9[] = "eth9", lo[] = "lo";
	struct ifaddrs all[4] = {
		{ .ifa_next = &all[1], .ifa_name = eth9, .ifa_addr = (struct sockaddr *)&other },
		{ .ifa_next = &all[2], .ifa_name = lo },
		{ .ifa_next = &all[3], .ifa_name = lo, .ifa_addr = (struct sockaddr *)&link },
		{ .ifa_name = lo, .ifa_addr = (struct sockaddr *)&own },
	};
	struct rig *r = *state;
	struct tcpx_addr bound, to;
	struct tcpx_stream *s;
	int fd;

	machine = all;
	assert_int_equal(tcpx_addr_parse("0.0.0.0", &r->nic.addr), 0);
	assert_int_equal(tcpx_sock_listen_fd(r->net, &r->nic, &r->nic.addr, &bound, &fd), 0);
	assert_int_equal(bound.family, 4);
	assert_memory_equal(bound.ip, "\x7f\0\0\1", 4);
	tcpx_ownfd_close(fd);
	assert_int_equal(tcpx_addr_parse("::", &r->nic.addr), 0);
	assert_int_equal(tcpx_addr_parse("[2001:db8::1]:9", &to), 0);
	assert_int_equal(r->ops->connect(r->net, 0, &to, 0, &s), -EADDRNOTAVAIL);
	assert_int_equal(tcpx_sock_listen_fd(r->net, &r->nic, &r->nic.addr, &bound, &fd),
			 -EADDRNOTAVAIL);
	assert_int_equal(r->warnings, 0); /* it may have one later */
	machine = NULL;
}

TEST_WITH(address_in_use_and_foreign_address_are_refused, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_stream *first, *second = NULL;
	struct tcpx_addr to, foreign, bound = { 0 };

	first = listen_any(r, &to);
	assert_int_equal(r->ops->listen(r->net, &to, &bound, &second), -EADDRINUSE);
	assert_int_equal(tcpx_addr_parse("203.0.113.1:0", &foreign), 0);
	assert_int_equal(r->ops->listen(r->net, &foreign, &bound, &second), -EADDRNOTAVAIL);
	assert_null(second);
	assert_int_equal(bound.family, 0);
	assert_int_equal(r->warnings, 0); /* the caller may try another port or address */
	r->ops->stream_close(first);
}

TEST_WITH(bad_targets_are_refused, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_stream *s = NULL;
	struct tcpx_addr to, none = { 0 };

	assert_int_equal(tcpx_addr_parse("[::1]:9", &to), 0);
	assert_int_equal(r->ops->connect(r->net, 0, &to, 0, &s), -EAFNOSUPPORT);
	assert_int_equal(r->ops->connect(r->net, 1, &to, 0, &s), -EINVAL);
	assert_int_equal(r->ops->connect(r->net, -2, &to, 0, &s), -EINVAL);
	assert_int_equal(r->ops->connect(r->net, -1, &none, 0, &s), -EAFNOSUPPORT);
	assert_null(s);
}

/* A listener whose queue cannot be taken would keep its loop awake for ever: each is shed. */
TEST_WITH(no_descriptor_left_sheds_the_connection, rig_open, rig_close)
{
	struct rig *r = *state;
	uint64_t deadline = rig_deadline();
	struct tcpx_stream *near, *far = NULL;
	struct tcpx_stream *l;
	struct rlimit old, tight;
	struct tcpx_addr to, from, at;
	struct tcpx_net_event ev[4];
	char byte;
	ssize_t n;
	int fd;

	l = listen_any(r, &to);
	assert_int_equal(r->ops->stream_watch(l, r->poller, l, TCPX_READABLE), 0);
	getrlimit(RLIMIT_NOFILE, &old);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(r->ops->connect(r->net, 0, &to, 0, &near), 0);
		assert_int_equal(r->ops->poller_wait(r->poller, ev, 4, RIG_WAIT_NS), 1);
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest free one */
		assert_true(fd >= 0);
		close(fd);
		tight = (struct rlimit){ (rlim_t)fd, old.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
		assert_int_equal(r->ops->accept(l, &far, &from, &at), -EAGAIN);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);

		assert_null(far);
		assert_int_equal(r->ops->poller_wait(r->poller, ev, 4, 0), 0);
		while ((n = r->ops->stream_recv(near, &byte, 1)) == -EAGAIN)
			rig_pause(r, deadline);
		assert_true(n == 0 || n == -ECONNRESET);
		r->ops->stream_close(near);
	}
	r->ops->stream_close(l);
}

TEST_WITH(without_a_spare_descriptor_the_connection_waits, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_stream *near, *far = NULL;
	struct tcpx_stream *l;
	struct rlimit old, tight;
	struct tcpx_addr to, from, at;
	struct tcpx_net_event ev[4];
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest free one */

	assert_true(fd >= 0);
	close(fd);
	getrlimit(RLIMIT_NOFILE, &old);
	tight = (struct rlimit){ (rlim_t)fd + 1, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	l = listen_any(r, &to); /* takes the last */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(r->ops->stream_watch(l, r->poller, l, TCPX_READABLE), 0);
	assert_int_equal(r->ops->connect(r->net, 0, &to, 0, &near), 0);
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 4, RIG_WAIT_NS), 1);
	tight.rlim_cur = (rlim_t)fd + 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	assert_int_equal(r->ops->accept(l, &far, &from, &at), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(r->ops->accept(l, &far, &from, &at), 0);
	r->ops->stream_close(near);
	r->ops->stream_close(far);
	r->ops->stream_close(l);
}
