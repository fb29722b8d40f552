/* SPDX-License-Identifier: Apache-2.0 */
/* The server's ports for tcpx doctor: it connects to the asker's own address, and to no
 * other. */

#include "cases.h"

#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "measure/perf/serve.h"
#include "tool/reach.h"

#define TOKEN 0x1234

static struct sockaddr_in
at(const char *addr, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	assert_int_equal(inet_pton(AF_INET, addr, &in.sin_addr), 1);
	return in;
}

static int
listen_on(const char *addr, uint16_t *port)
{
	struct sockaddr_in in = at(addr, 0);
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_return_code(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_return_code(listen(fd, 1), 0);
	assert_return_code(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	*port = ntohs(in.sin_port);
	return fd;
}

/* In place of the session's: keeps the port that is answered. */
static uint16_t told;

int __wrap_client_say(struct client *g, const char *type, json_t *msg);

int
__wrap_client_say(struct client *g, const char *type, json_t *msg)
{
	const json_t *nics = json_object_get(msg, "nics");
	struct tcpx_addr addr;

	(void)g;
	assert_string_equal(type, "reach_at");
	assert_int_equal(json_array_size(nics), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(nics, 0), "name")), "lo");
	assert_int_equal(tcpx_addr_parse(json_string_value(json_object_get(json_array_get(nics, 0),
									   "addr")), &addr), 0);
	told = addr.port;
	json_decref(msg);
	return 0;
}

/* The engine's NICs: the second has no address. */
int __wrap_tcpx_query_nics(tcpx_engine *e, struct tcpx_nic_info *out, size_t stride, size_t *count);

int
__wrap_tcpx_query_nics(tcpx_engine *e, struct tcpx_nic_info *out, size_t stride, size_t *count)
{
	(void)e;
	assert_int_equal(stride, sizeof(*out));
	out[0] = (struct tcpx_nic_info){ .name = "lo", .addr = "127.0.0.1" };
	out[1] = (struct tcpx_nic_info){ .name = "none", .addr = "0.0.0.0" };
	*count = 2;
	return 0;
}

static int
join(const char *from)
{
	struct sockaddr_in own = at(from, 0), to = at("127.0.0.1", told);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_return_code(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_return_code(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* The answer, and the bytes that come behind it. False: the connection was closed. */
static bool
hear(struct client *g, int fd, struct reach_answer *out, size_t bytes)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t got = 0, all = sizeof(*out) + bytes;
	ssize_t n;

	while (got < all) {
		while (poll(&p, 1, 1) == 0)
			client_step_reach(g);
		n = recv(fd, got < sizeof(*out) ? (char *)out + got : NULL,
			 got < sizeof(*out) ? sizeof(*out) - got : all - got,
			 got < sizeof(*out) ? 0 : MSG_TRUNC);
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

/* The byte for a question from @from; 0: the connection was closed without one. */
static char
ask(struct client *g, const char *from, uint64_t token, uint16_t port)
{
	struct reach_question q = { .token = htobe64(token), .port = htons(port) };
	struct reach_answer a;
	int fd = join(from);
	bool heard;

	assert_int_equal(send(fd, &q, sizeof(q), MSG_NOSIGNAL), sizeof(q));
	heard = hear(g, fd, &a, 0);
	if (heard && strncmp(a.to, from, strlen(from)) != 0)
		fail_msg("%s was tried for %s", a.to, from);
	close(fd);
	return heard ? a.back : 0;
}

static const struct perf_args args;
static const struct serve server = { .args = &args };

TEST(only_the_asker_is_tried)
{
	json_t *msg = json_pack("{s:i}", "token", TOKEN);
	struct client g = { .name = "test" };
	uint16_t port;
	int fd = listen_on("127.0.0.1", &port);

	assert_int_equal(client_take_reach(&server, &g, msg), 0);
	assert_int_equal(ask(&g, "127.0.0.1", TOKEN, port), REACH_OPEN);
	assert_int_equal(ask(&g, "127.0.0.5", TOKEN, port), REACH_REFUSED); /* its own has none */
	assert_int_equal(ask(&g, "127.0.0.1", TOKEN + 1, port), 0);
	assert_int_equal(ask(&g, "127.0.0.1", TOKEN, REACH_PORT_MIN - 1), 0);
	close(fd);
	assert_int_equal(ask(&g, "127.0.0.1", TOKEN, port), REACH_REFUSED);
	client_end_reach(&g);
	json_decref(msg);
}

/* The answer waits for the last byte of the question, and the bytes behind it for no other
 * one. */
TEST(bytes_go_both_ways)
{
	enum { BYTES = 100000 };
	static const char zeros[BYTES];
	json_t *msg = json_pack("{s:i}", "token", TOKEN);
	struct client g = { .name = "test" };
	struct reach_question q = { .token = htobe64(TOKEN), .fill = htonl(BYTES),
				    .bytes = htonl(BYTES) };
	struct reach_answer a;
	int fd;

	assert_int_equal(client_take_reach(&server, &g, msg), 0);
	fd = join("127.0.0.1");
	for (int again = 0; again < 2; again++) {
		assert_int_equal(send(fd, &q, sizeof(q), MSG_NOSIGNAL), sizeof(q));
		assert_int_equal(send(fd, zeros, BYTES - 1, MSG_NOSIGNAL), BYTES - 1);
		for (int i = 0; i < 100; i++)
			client_step_reach(&g);
		assert_int_equal(recv(fd, &a, sizeof(a), MSG_DONTWAIT), -1);
		assert_int_equal(send(fd, zeros, 1, MSG_NOSIGNAL), 1);
		assert_true(hear(&g, fd, &a, BYTES));
		assert_int_equal(a.back, 0);
		assert_true(ntohl(a.full) > 576 && ntohl(a.mtu) >= ntohl(a.full));
	}
	q.fill = htonl(REACH_BYTES + 1);
	assert_int_equal(send(fd, &q, sizeof(q), MSG_NOSIGNAL), sizeof(q));
	assert_false(hear(&g, fd, &a, 0));
	close(fd);
	client_end_reach(&g);
	json_decref(msg);
}

TEST(a_job_without_a_token_is_refused)
{
	struct client g = { .name = "test" };
	json_t *msg = json_object();

	assert_int_equal(client_take_reach(&server, &g, msg), TCPX_EBLOB);
	assert_null(g.reach);
	json_decref(msg);
}
