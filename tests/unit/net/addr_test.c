/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses as text, both ways, and the names of providers.
 */
#include "cases.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "net/registry.h"
#include "net/resolve.h"

static const struct {
	const char *name;
	const char *text;
	int rc;
	uint8_t family;
	uint16_t port;
	const char *back; /* NULL: as it was */
} cases[] = {
	{ "IPv4", "10.0.0.1", 0, 4, 0, NULL },
	{ "IPv4 with port", "10.0.0.1:80", 0, 4, 80, NULL },
	{ "highest port", "255.255.255.255:65535", 0, 4, 65535, NULL },
	{ "port 0 is any port", "0.0.0.0:0", 0, 4, 0, "0.0.0.0" },
	{ "IPv6", "::1", 0, 6, 0, NULL },
	{ "IPv6 in brackets", "[::1]", 0, 6, 0, "::1" },
	{ "IPv6 with port", "[2001:db8::2]:443", 0, 6, 443, NULL },
	{ "IPv6 with a scope", "fe80::1%7", 0, 6, 0, NULL },
	{ "IPv6 with scope and port", "[fe80::1%4294967295]:65535", 0, 6, 65535, NULL },
	{ "scope by name", "fe80::1%lo", 0, 6, 0, "fe80::1%1" },
	{ "full IPv6", "2001:db8:1111:2222:3333:4444:5555:6666", 0, 6, 0, NULL },
	{ "IPv4 in IPv6", "::ffff:10.1.2.3", 0, 4, 0, "10.1.2.3" },
	{ "IPv4 in IPv6 with port", "[::ffff:10.1.2.3%1]:80", 0, 4, 80, "10.1.2.3:80" },
	{ "IPv4 in another IPv6", "::fffe:a01:203", 0, 6, 0, NULL },
	{ "empty", "", -EINVAL, 0, 0, NULL },
	{ "a name", "localhost", -EINVAL, 0, 0, NULL },
	{ "a name with port", "node1:80", -EINVAL, 0, 0, NULL },
	{ "three numbers", "10.0.0", -EINVAL, 0, 0, NULL },
	{ "number above 255", "10.0.0.256", -EINVAL, 0, 0, NULL },
	{ "no port after the colon", "10.0.0.1:", -EINVAL, 0, 0, NULL },
	{ "port too high", "10.0.0.1:65536", -EINVAL, 0, 0, NULL },
	{ "port far too high", "10.0.0.1:99999999999999999999999", -EINVAL, 0, 0, NULL },
	{ "negative port", "10.0.0.1:-1", -EINVAL, 0, 0, NULL },
	{ "port in hex", "10.0.0.1:0x50", -EINVAL, 0, 0, NULL },
	{ "blank in front", " 10.0.0.1", -EINVAL, 0, 0, NULL },
	{ "bracket left open", "[::1", -EINVAL, 0, 0, NULL },
	{ "text after the bracket", "[::1]80", -EINVAL, 0, 0, NULL },
	{ "IPv4 in brackets", "[10.0.0.1]:80", -EINVAL, 0, 0, NULL },
	{ "empty scope", "fe80::1%", -EINVAL, 0, 0, NULL },
	{ "scope 0", "fe80::1%0", -EINVAL, 0, 0, NULL },
	{ "too long",
	  "[1111:1111:1111:1111:1111:1111:1111:1111%1111111111111111111111111111111111111"
	  "11111111111111111111111111111111111111]:1", -EINVAL, 0, 0, NULL },
};

TEST(parse_and_format_agree)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tcpx_addr a = { .family = 99 };
		const char *want = cases[i].back ? cases[i].back : cases[i].text;
		char text[64];
		int rc = tcpx_addr_parse(cases[i].text, &a);

		if (rc != cases[i].rc)
			fail_msg("%s: rc is %d, want %d", cases[i].name, rc, cases[i].rc);
		if (rc && a.family != 99)
			fail_msg("%s: a refused text was written out", cases[i].name);
		if (rc)
			continue;
		tcpx_addr_format(&a, text, sizeof(text));
		if (a.family != cases[i].family || a.port != cases[i].port || strcmp(text, want))
			fail_msg("%s: IPv%u port %u, '%s', want '%s'", cases[i].name, a.family,
				 a.port, text, want);
	}
}

TEST(no_address_has_a_text)
{
	struct tcpx_addr a = { 0 };
	char text[64], small[4];

	tcpx_addr_format(&a, text, sizeof(text));
	assert_string_equal(text, "none");
	tcpx_addr_format(&a, small, sizeof(small));
	assert_string_equal(small, "non");
}

TEST(providers_are_found_by_name)
{
	assert_ptr_equal(tcpx_net_find("sock"), &tcpx_net_sock);
	assert_null(tcpx_net_find("loop")); /* the scripted network is a test's */
	assert_null(tcpx_net_find("socks"));
	assert_null(tcpx_net_find(""));
}

static void
log_drop(void *arg, int level, const char *line)
{
}

static void
count_line(void *arg, int level, const char *line)
{
	(void)level;
	(void)line;
	++*(unsigned *)arg;
}

/* A resolver that knows these; "localhost" is the system's. */
static const struct {
	const char *host, *ip[3];
} known[] = {
	{ "debian", { "127.0.1.1" } },
	{ "both", { "::1", "127.0.1.1", "127.0.0.1" } },
	{ "near", { "fe80::7" } },
	{ "nearer", { "fe80::7", "10.0.0.9" } },
};

static unsigned looked_up;

int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **all);
void __real_freeaddrinfo(struct addrinfo *all);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **all);
void __wrap_freeaddrinfo(struct addrinfo *all);

static struct addrinfo ours[3];
static struct sockaddr_in6 at[3];

int
__wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **all)
{
	looked_up++;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(host, known[i].host))
			continue;
		for (int k = 0; k < 3 && known[i].ip[k]; k++) {
			bool six = strchr(known[i].ip[k], ':');
			struct sockaddr_in *four = (void *)&at[k];

			at[k] = (struct sockaddr_in6){ .sin6_family = six ? AF_INET6 : AF_INET,
						       .sin6_port = htons((uint16_t)atoi(port)) };
			inet_pton(at[k].sin6_family, known[i].ip[k], six ? (void *)&at[k].sin6_addr :
				  (void *)&four->sin_addr);
			ours[k] = (struct addrinfo){ .ai_addr = (void *)&at[k] };
			if (k)
				ours[k - 1].ai_next = &ours[k];
		}
		*all = ours;
		return 0;
	}
	return __real_getaddrinfo(host, port, hints, all);
}

void
__wrap_freeaddrinfo(struct addrinfo *all)
{
	if (all != ours)
		__real_freeaddrinfo(all);
}

static char said[256];

static void
keep_line(void *arg, int level, const char *line)
{
	snprintf(said, sizeof(said), "%s", line);
}

/* No resolver is asked for what cannot be a name. */
TEST(a_wrong_form_of_ipv6_is_refused_at_once)
{
	static const struct {
		const char *text, *form;
	} rows[] = {
		{ "[::1", "write an IPv6 address as [::1]:PORT" },
		{ "[::1:28515", "write an IPv6 address as [::1]:28515" },
		{ "[::1]", "write an IPv6 address as [::1]:PORT" },
		{ "[2001:db8::2]28515", "write an IPv6 address as [ADDRESS]:PORT" },
		{ "::1", "write an IPv6 address as [::1]:PORT" },
		{ "2001:db8::2", "write an IPv6 address as [2001:db8::2]:PORT" },
		{ "2001:db8::2:28515", "write an IPv6 address as [2001:db8::2]:28515" },
		{ "[2001:db8::2:28515]:28515", "write an IPv6 address as [ADDRESS]:PORT" },
		{ "one:two:3", "write an IPv6 address as [ADDRESS]:PORT" },
		{ "[fe80::5]:28515", "write [fe80::5%NIC]:28515" },
		{ "near:28515", "write [fe80::7%NIC]:28515" },
	};
	struct tcpx_addr a[4];
	uint32_t n;

	tcpx_log_sink(keep_line, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		looked_up = 0;
		if (tcpx_addr_resolve(rows[i].text, a, 4, &n) != -EINVAL || !strstr(said, rows[i].form))
			fail_msg("%s: %s", rows[i].text, said);
		assert_int_equal(looked_up, !strchr(rows[i].text, '[') && rows[i].text[0] == 'n');
	}
	tcpx_log_sink(NULL, NULL);
}

/* A server of this host is found by the host's own name, and an address without its zone is
 * left out. */
TEST(what_a_name_leads_to)
{
	static const struct {
		const char *text, *leads_to;
	} rows[] = {
		{ "debian:28515", "127.0.1.1:28515 127.0.0.1:28515 " },
		{ "both:5", "[::1]:5 127.0.1.1:5 127.0.0.1:5 127.0.0.1:5 " },
		{ "nearer:5", "10.0.0.9:5 " },
		{ "127.0.1.1:5", "127.0.1.1:5 " },
	};
	struct tcpx_addr a[4];
	char all[256], one[64];
	uint32_t n;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		all[0] = '\0';
		assert_int_equal(tcpx_addr_resolve(rows[i].text, a, 4, &n), 0);
		for (uint32_t k = 0; k < n; k++) {
			tcpx_addr_format(&a[k], one, sizeof(one));
			strcat(strcat(all, one), " ");
		}
		assert_string_equal(all, rows[i].leads_to);
	}
	assert_int_equal(tcpx_addr_resolve("debian:5", a, 1, &n), 0);
	assert_int_equal(n, 1);
}

TEST(a_host_name_is_no_warning)
{
	struct tcpx_addr a[4];
	unsigned lines = 0;
	uint32_t n = 0;

	tcpx_log_sink(count_line, &lines);
	assert_int_equal(tcpx_addr_resolve("localhost:28515", a, 4, &n), 0);
	tcpx_log_sink(NULL, NULL);
	assert_true(n >= 1 && a[0].port == 28515);
	assert_int_equal(lines, 0);
}

/* The resolver knows a name of a zone that is no number. */
TEST(a_zone_is_kept)
{
	struct tcpx_addr a[4];
	char text[64];
	uint32_t n = 0;

	assert_int_equal(tcpx_addr_resolve("fe80::1%lo:28515", a, 4, &n), 0);
	assert_int_equal(n, 1);
	tcpx_addr_format(&a[0], text, sizeof(text));
	assert_string_equal(text, "[fe80::1%1]:28515");
}

TEST(several_addresses_stand_between_commas)
{
	static const char *const none[] = { "", ",", "10.0.0.1:5,", "10.0.0.1:5,,10.0.0.2:5",
					    "10.0.0.1:5,10.0.0.2" };
	struct tcpx_addr a[4];
	char text[64];
	uint32_t n = 0;

	assert_int_equal(tcpx_addr_resolve("10.0.0.1:5,[fd00::2]:6,10.0.0.3:7", a, 4, &n), 0);
	assert_int_equal(n, 3);
	tcpx_addr_format(&a[1], text, sizeof(text));
	assert_string_equal(text, "[fd00::2]:6");
	assert_int_equal(a[2].port, 7);
	assert_int_equal(tcpx_addr_resolve("10.0.0.1:5,10.0.0.2:6,10.0.0.3:7", a, 2, &n), 0);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(tcpx_addr_resolve(none[i], a, 4, &n), -EINVAL);
}

int
main(void)
{
	tcpx_log_sink(log_drop, NULL);
	return run_cases(NULL, NULL);
}
