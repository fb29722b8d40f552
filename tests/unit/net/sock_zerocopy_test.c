/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lending pages with MSG_ZEROCOPY: the kernel's completions of its calls, and the fallback
 * when it takes no more of them. Pages that it cannot lend are copied, whichever way was chosen.
 */
#include "sock_trip.h"

#include <errno.h>
#include <linux/filter.h>
#include <sys/socket.h>

static bool unlendable; /* the pages of the present message */

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __real_vmsplice(int fd, const struct iovec *v, size_t count, unsigned flags);
ssize_t __wrap_vmsplice(int fd, const struct iovec *v, size_t count, unsigned flags);

ssize_t
__wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	errno = EFAULT;
	return unlendable && (flags & MSG_ZEROCOPY) ? -1 : __real_sendmsg(fd, msg, flags);
}

ssize_t
__wrap_vmsplice(int fd, const struct iovec *v, size_t count, unsigned flags)
{
	errno = EFAULT;
	return unlendable ? -1 : __real_vmsplice(fd, v, count, flags);
}

/* Memory of a device that an application has mapped is like this. */
static void
pages_that_cannot_be_lent_are_copied_and_the_next_are_lent(void **state)
{
	struct trip *t = trip_new(*state);

	for (int i = 0; i < 6; i++) {
		unlendable = i % 2 == 0;
		trip_owned(t, M);
		assert_int_equal(t->msg.lent, !unlendable);
	}
	trip_free(t);
}

/* the loopback device makes the kernel copy: counted as such */
static void
payload_of_any_length_arrives_and_copies_are_not_counted(void **state)
{
	struct trip *t = trip_new(*state);
	struct tcpx_sock_lend *l = &t->r->tx->tx.lend;
	uint64_t deadline = rig_deadline();

	trip_all_lengths(t);
	assert_true(t->msg.lent);
	assert_string_equal(trip_stats(t->r).tx_mode, "msg_zerocopy");
	for (; l->pending; rig_pause(t->r, deadline))
		tcpx_sock_lend_settle(t->r->tx);
	assert_true(l->calls > 0);
	assert_true(l->saved || l->copied);
	assert_true(l->saved == (trip_stats(t->r).lent_bytes > 0));
	trip_free(t);
}

static void
notifications_count_the_bytes_of_their_calls(void **state)
{
	struct rig *r = *state;
	struct tcpx_sock_lend *l = &r->tx->tx.lend;
	struct trip *t = trip_new(r);

	trip_owned(t, M);
	l->pending = 0; /* the kernel's own stay unread: these play its part below */
	l->copied = false;
	l->calls = UINT32_MAX - 1; /* ids wrap */
	for (uint32_t i = 0; i < 4; i++) {
		l->call_bytes[l->calls++ % TCPX_SOCK_ZEROCOPIES] = 1u << i;
		l->pending++;
	}
	tcpx_sock_lend_done(l, 7, 9, false); /* never made */
	assert_int_equal(l->pending, 4);
	tcpx_sock_lend_done(l, UINT32_MAX - 1, 0, false);
	assert_int_equal(l->pending, 1);
	assert_int_equal(trip_stats(r).lent_bytes, 1 + 2 + 4);
	assert_true(l->saved && !l->copied);
	tcpx_sock_lend_done(l, 1, 1, true);
	assert_int_equal(l->pending, 0);
	assert_int_equal(trip_stats(r).lent_bytes, 7);
	assert_true(l->copied);
	trip_free(t);
}

static void
without_pipes_auto_gives_msg_zerocopy_up_when_it_copies(void **state)
{
	struct trip *t = trip_new(*state);
	struct tcpx_sock_lend *l = &t->r->tx->tx.lend;
	uint64_t deadline = rig_deadline();

	t->r->net->pipes.limit = 0;
	trip_owned(t, 64 * K - 1);
	assert_int_equal(l->calls, 0);
	trip_owned(t, M);
	assert_true(l->calls > 0);
	assert_true(t->msg.lent);
	for (; l->pending; rig_pause(t->r, deadline))
		tcpx_sock_lend_settle(t->r->tx);
	trip_owned(t, M);
	assert_int_equal(t->msg.lent, !l->copied);
	assert_string_equal(trip_stats(t->r).tx_mode, l->copied ? "copy" : "msg_zerocopy");
	trip_free(t);
}

static bool
attach_filter(int fd, struct sock_filter *code, unsigned short len)
{
	struct sock_fprog prog = { len, code };

	for (int i = 0; i < len - 1; i++)
		code[i] = (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0);
	code[len - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) == 0;
}

static void
detach_filter(int fd)
{
	int none = 0;

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none)), 0);
}

/* A filter as long as the kernel takes uses up what it grants a socket for such things. */
static void
use_up_option_memory(int fd)
{
	struct sock_filter code[4096];
	unsigned short fits = 1, step = 2048;

	for (; step; step /= 2)
		if (attach_filter(fd, code, fits + step)) {
			fits += step;
			detach_filter(fd); /* the next one must not count beside it */
		}
	assert_true(attach_filter(fd, code, fits));
}

static void
short_of_option_memory_the_rest_is_copied(void **state)
{
	struct trip *t = trip_new(*state);
	struct tcpx_sock_lend *l = &t->r->tx->tx.lend;
	int copied = 0;

	use_up_option_memory(t->r->tx->fd);
	for (int i = 0; i < 50; i++) {
		trip_owned(t, M);
		copied += !t->msg.lent;
	}
	assert_true(copied > 0);
	assert_false(l->no_msg);
	detach_filter(t->r->tx->fd);
	trip_owned(t, M);
	assert_true(t->msg.lent);
	trip_free(t);
}

static void
too_many_calls_in_flight_are_copied(void **state)
{
	struct trip *t = trip_new(*state);
	struct tcpx_sock_lend *l = &t->r->tx->tx.lend;

	trip_owned(t, M);
	l->pending = TCPX_SOCK_ZEROCOPIES; /* as if the kernel had reported none */
	while (recv(t->r->tx->fd, t->dst, 0, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0)
		;
	trip_owned(t, M);
	assert_false(t->msg.lent);
	assert_int_equal(l->pending, TCPX_SOCK_ZEROCOPIES);
	trip_free(t);
}

static void
news_of_the_kernel_is_no_break(void **state)
{
	struct trip *t = trip_new(*state);
	struct rig *r = t->r;
	struct tcpx_net_event ev[2];
	struct tcpx_ack ack;
	uint64_t deadline = rig_deadline();

	assert_int_equal(r->ops->chan_watch(r->tx, r->poller, r->tx, TCPX_READABLE), 0);
	trip_owned(t, M);
	assert_true(r->tx->tx.lend.pending > 0);
	while (r->tx->tx.lend.pending) {
		assert_int_equal(r->ops->poller_wait(r->poller, ev, 2, RIG_WAIT_NS), 1);
		assert_int_equal(ev[0].ready, TCPX_BROKEN);
		assert_int_equal(r->ops->stream->acked(r->tx, &ack), -EAGAIN);
		assert_true(tcpx_clock_now(&tcpx_clock_system) < deadline);
	}
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 2, 1000000), 0);
	trip_owned(t, M);
	r->ops->chan_close(r->rx); /* and a break is one, news or not */
	r->rx = NULL;
	while (r->ops->stream->acked(r->tx, &ack) == -EAGAIN)
		rig_pause(r, deadline);
	assert_int_equal(r->ops->stream->acked(r->tx, &ack), TCPX_ECHANNEL);
	trip_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(msg, payload_of_any_length_arrives_and_copies_are_not_counted),
		WITH(msg, notifications_count_the_bytes_of_their_calls),
		WITH(auto, without_pipes_auto_gives_msg_zerocopy_up_when_it_copies),
		WITH(msg, short_of_option_memory_the_rest_is_copied),
		WITH(msg, too_many_calls_in_flight_are_copied),
		WITH(splice, pages_that_cannot_be_lent_are_copied_and_the_next_are_lent),
		WITH(msg, pages_that_cannot_be_lent_are_copied_and_the_next_are_lent),
		WITH(msg, news_of_the_kernel_is_no_break),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
