/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel knows who listens on this host: at an address, at all of them, and until it
 * ends. */
#include "sock_rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

static int
ask(const char *ip, uint16_t port)
{
	struct tcpx_addr at;

	assert_int_equal(tcpx_addr_parse(ip, &at), 0);
	at.port = port;
	return tcpx_net_sock.listens(&at);
}

static int
listener(const char *ip, uint16_t *port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	bool is_four = inet_pton(AF_INET, ip, &four.sin_addr) == 1;
	struct sockaddr *at = is_four ? (struct sockaddr *)&four : (struct sockaddr *)&six;
	socklen_t len = is_four ? sizeof(four) : sizeof(six);
	int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!is_four)
		assert_int_equal(inet_pton(AF_INET6, ip, &six.sin6_addr), 1);
	if (fd < 0 || bind(fd, at, len) != 0) { /* no IPv6 here */
		close(fd);
		return -1;
	}
	assert_int_equal(getsockname(fd, at, &len), 0);
	*port = ntohs(is_four ? four.sin_port : six.sin6_port);
	return fd;
}

TEST(who_listens_is_known)
{
	static const struct {
		const char *at, *asked;
		int listens;
	} rows[] = {
		{ "127.0.1.1", "127.0.1.1", 1 }, { "127.0.1.1", "127.0.1.2", 0 }, { "0.0.0.0", "127.0.1.2", 1 },
		{ "127.0.1.1", "::1", 0 },       { "::1", "::1", 1 },             { "::1", "127.0.1.1", 0 },
		{ "::", "::1", 1 },              { "::", "127.0.1.1", 1 },
	};
	uint16_t port = 0;

	if (ask("127.0.1.1", 1) < 0) {
		print_message("# skipped: this kernel does not say who listens\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = listener(rows[i].at, &port);

		if (fd < 0)
			continue;
		assert_int_equal(ask(rows[i].asked, port), 0); /* bound alone */
		assert_int_equal(listen(fd, 1), 0);
		if (ask(rows[i].asked, port) != rows[i].listens)
			fail_msg("row %zu", i);
		close(fd);
		assert_int_equal(ask(rows[i].asked, port), 0);
	}
}
