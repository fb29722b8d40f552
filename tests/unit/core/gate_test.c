/* SPDX-License-Identifier: Apache-2.0 */
/* TCPX_ALLOW: who may connect, on the control port and on those of data. */
#include "rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "core/session/gate.h"
#include "core/context/context.h"

static int lines;

static void
count_lines(void *arg, int level, const char *line)
{
	lines += strstr(line, "TCPX_ALLOW") != NULL;
}

/* A connection from 127.0.0.@last to the engine, silent. */
static int
dial(tcpx_engine *e, int last)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(0x7f000000u + (uint32_t)last) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(tcpx_port(e)),
				  .sin_addr.s_addr = htonl(0x7f000101) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Waits until the other end has closed it: nothing was said on it. */
static void
assert_closed(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte;

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
}

TEST_WITH(who_is_not_listed_is_closed_unheard, rig_setup, rig_teardown)
{
	static const char *const allow[] = { "TCPX_ALLOW=127.0.0.1,127.0.0.7,127.0.1.0/24",
					     "TCPX_HANDSHAKE_MS=60s", NULL };
	struct rig *r = *state;
	tcpx_engine *e = rig_open("guarded", allow);
	tcpx_peer *p;
	int fd;

	for (int i = 0; i < 3; i++)
		assert_closed(dial(e, 8));
	assert_int_equal(counters_of(e).refused, 3);
	assert_closed(dial(e, 9));
	assert_int_equal(counters_of(e).refused, 4);

	fd = dial(e, 7); /* silent, and not closed */
	p = rig_connect(r->a, e); /* accepted later, so fd has been by now */
	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	assert_int_equal(recv(fd, &(char){ 0 }, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(counters_of(e).refused, 4);
	close(fd);
	tcpx_peer_free(p);
	tcpx_close(e);
}

/* Control comes from 127.0.0.1, data from the NIC's 127.0.1.1. */
TEST_WITH(data_ports_are_guarded_too, rig_setup, rig_teardown)
{
	static const char *const allow[] = { "TCPX_ALLOW=127.0.0.1", "TCPX_HANDSHAKE_MS=1s", NULL };
	struct rig *r = *state;
	tcpx_engine *e = rig_open("guarded", allow);
	tcpx_peer *p = rig_connect(r->a, e);

	assert_true(tcpx_peer_wait(p, WAIT_MS) < 0);
	assert_true(counters_of(e).refused >= 1);
	tcpx_peer_free(p);
	tcpx_close(e);
}

static uint64_t
test_clock(void *arg)
{
	return *(uint64_t *)arg;
}

static bool
admits(struct tcpx_engine *e, const char *text)
{
	struct tcpx_addr a;

	assert_int_equal(tcpx_addr_parse(text, &a), 0);
	return tcpx_gate_admits(e, &a);
}

TEST_WITH(a_source_is_told_once_and_a_flood_at_a_low_rate, rig_setup, rig_teardown)
{
	static const char *const allow[] = { "TCPX_ALLOW=10.0.0.0/8", NULL };
	struct rig *r = *state;
	uint64_t now_ns = 1000 * TCPX_SEC;
	tcpx_engine *e = rig_open("guarded", allow);
	char text[32];

	(void)r;
	e->clock = (struct tcpx_clock){ test_clock, &now_ns };
	tcpx_log_sink(count_lines, NULL);
	lines = 0;
	assert_true(admits(e, "10.1.1.1:9"));
	assert_int_equal(lines, 0);
	for (int i = 0; i < 100; i++)
		assert_false(admits(e, "11.0.0.1:9"));
	assert_int_equal(lines, 1);
	for (int i = 0; i < 250; i++) {
		snprintf(text, sizeof(text), "12.0.0.%d:%d", i, i + 1);
		assert_false(admits(e, text));
	}
	assert_int_equal(lines, 1); /* within one second */
	now_ns += 2 * TCPX_SEC;
	assert_false(admits(e, "11.0.0.1:10")); /* its line was first */
	assert_int_equal(lines, 1);
	assert_false(admits(e, "[fd00::1]:10"));
	assert_int_equal(lines, 2);
	assert_int_equal(counters_of(e).refused, 352);
	tcpx_log_sink(NULL, NULL);
	e->clock = tcpx_clock_system;
	tcpx_close(e);
}

TEST_WITH(a_list_that_is_none_is_refused_with_what_is_allowed, rig_setup, rig_teardown)
{
	static const char *const bad[] = { "TCPX_ALLOW=10.0.0.0/8,eth1", NULL };
	tcpx_engine *e;
	char text[512];

	assert_code(rig_try_open("bad", bad, &e), TCPX_ECONFIG);
	tcpx_last_error(NULL, text, sizeof(text));
	assert_non_null(strstr(text, "10.0.0.0/8,eth1"));
	assert_non_null(strstr(text, "ADDRESS/BITS"));
}
