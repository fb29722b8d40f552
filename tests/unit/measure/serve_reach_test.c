/* SPDX-License-Identifier: Apache-2.0 */
/* The server's port for tcpx doctor: it connects to the asker's own address, and to no other. */

#include "cases.h"

#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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
	(void)g;
	assert_string_equal(type, "reach_at");
	told = (uint16_t)json_integer_value(json_object_get(msg, "port"));
	json_decref(msg);
	return 0;
}

/* The byte for a question from @from; 0: the connection was closed without one. */
static char
ask(struct client *g, const char *from, uint64_t token, uint16_t port)
{
	struct reach_question q = { htobe64(token), htons(port) };
	struct sockaddr_in own = at(from, 0), to = at("127.0.0.1", told);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte = 0;

	assert_return_code(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_return_code(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(send(fd, &q, sizeof(q), MSG_NOSIGNAL), sizeof(q));
	while (poll(&p, 1, 1) == 0)
		client_step_reach(g);
	if (recv(fd, &byte, 1, 0) != 1)
		byte = 0;
	close(fd);
	return byte;
}

TEST(only_the_asker_is_tried)
{
	json_t *msg = json_pack("{s:i}", "token", TOKEN);
	struct client g = { .name = "test" };
	uint16_t port;
	int fd = listen_on("127.0.0.1", &port);

	assert_int_equal(client_take_reach(&g, msg), 0);
	assert_int_equal(ask(&g, "127.0.0.1", TOKEN, port), REACH_OPEN);
	assert_int_equal(ask(&g, "127.0.0.5", TOKEN, port), REACH_REFUSED); /* its own has none */
	assert_int_equal(ask(&g, "127.0.0.1", TOKEN + 1, port), 0);
	assert_int_equal(ask(&g, "127.0.0.1", TOKEN, REACH_PORT_MIN - 1), 0);
	close(fd);
	assert_int_equal(ask(&g, "127.0.0.1", TOKEN, port), REACH_REFUSED);
	client_end_reach(&g);
	json_decref(msg);
}

TEST(a_job_without_a_token_is_refused)
{
	struct client g = { .name = "test" };
	json_t *msg = json_object();

	assert_int_equal(client_take_reach(&g, msg), TCPX_EBLOB);
	assert_null(g.reach);
	json_decref(msg);
}
