/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: texts read and refused, texts written, subnets, ranks. */
#include "../fixture.h"

#include <errno.h>

#include "host/addr.h"
#include "host/links.h"

TEST(texts_are_read_or_refused)
{
	static const struct {
		const char *text;
		int rc;
		unsigned family, prefix;
	} rows[] = {
		{ "10.0.0.2", 0, 4, 0 },
		{ "10.0.0.2/24", 0, 4, 24 },
		{ "10.0.0.2/32", 0, 4, 32 },
		{ "::1", 0, 6, 0 },
		{ "fe80::1/64", 0, 6, 64 },
		{ "2001:db8::1/128", 0, 6, 128 },
		{ "", -EINVAL, 0, 0 },
		{ "eth0", -EINVAL, 0, 0 },
		{ "10.0.0", -EINVAL, 0, 0 },
		{ "10.0.0.256", -EINVAL, 0, 0 },
		{ "10.0.0.2:80", -EINVAL, 0, 0 },
		{ "10.0.0.2/33", -EINVAL, 0, 0 },
		{ "10.0.0.2/", -EINVAL, 0, 0 },
		{ "10.0.0.2/x", -EINVAL, 0, 0 },
		{ "::1/129", -EINVAL, 0, 0 },
		{ "fe80::1%eth0", -EINVAL, 0, 0 },
		{ "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", -EINVAL, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_addr addr = { .family = 99 };
		char text[TCPX_HOST_ADDR_TEXT];

		check(rows[i].text, "rc", tcpx_host_addr_parse(rows[i].text, &addr), rows[i].rc);
		if (rows[i].rc) {
			check(rows[i].text, "family", addr.family, 99);
			continue;
		}
		check(rows[i].text, "family", addr.family, rows[i].family);
		check(rows[i].text, "prefix", addr.prefix, rows[i].prefix);
		tcpx_host_addr_format(&addr, text, sizeof(text));
		check_text("written", text, rows[i].text);
	}
}

static struct tcpx_addr
addr_of(const char *text)
{
	struct tcpx_addr addr = { 0 };

	assert_int_equal(tcpx_host_addr_parse(text, &addr), 0);
	return addr;
}

TEST(the_longest_text_fits)
{
	struct tcpx_addr a = addr_of("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128");
	char text[TCPX_HOST_ADDR_TEXT];

	a.scope = UINT32_MAX;
	tcpx_host_addr_format(&a, text, sizeof(text));
	check_text("scope", text, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295/128");
	tcpx_host_addr_format(&(struct tcpx_addr){ 0 }, text, sizeof(text));
	check_text("no address", text, "none");
}

TEST(subnets_are_compared_by_the_shorter_prefix)
{
	static const struct {
		const char *a, *b;
		bool same, equal;
	} rows[] = {
		{ "10.0.0.2/24", "10.0.0.3/24", true, false },
		{ "10.0.0.2/24", "10.0.1.2/24", false, false },
		{ "10.0.0.2/24", "10.0.1.2/16", true, false },
		{ "10.0.0.2/32", "10.0.0.3/32", false, false },
		{ "10.0.0.2/31", "10.0.0.3/31", true, false },
		{ "10.0.0.127/25", "10.0.0.128/25", false, false },
		{ "10.0.0.2", "10.0.0.2", false, true },
		{ "10.0.0.2/24", "::1/24", false, false },
		{ "fd00::1/64", "fd00::2/64", true, false },
		{ "fd00:0:0:1::1/64", "fd00::1/64", false, false },
		{ "fd00::1/128", "fd00::1/128", true, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_addr a = addr_of(rows[i].a), b = addr_of(rows[i].b);

		check(rows[i].a, rows[i].b, tcpx_host_addr_same_subnet(&a, &b), rows[i].same);
		check(rows[i].b, rows[i].a, tcpx_host_addr_same_subnet(&b, &a), rows[i].same);
		check(rows[i].a, "equal", tcpx_host_addr_equal(&a, &b), rows[i].equal);
	}
}

/* As the kernel prefers sources; flags by their first letters. */
TEST(ranks_prefer_addresses_that_reach_far_and_stay)
{
	static const struct {
		const char *text, *flags;
	} best_first[] = {
		{ "10.0.0.1/24", "" }, { "10.0.0.2/24", "s" }, { "10.0.0.3/32", "" }, { "fd00::1/64", "" },
		{ "fd00::2/64", "t" }, { "fd00::3/128", "" }, { "10.0.0.4/24", "d" }, { "fd00::4/64", "d" },
		{ "fd00::5/128", "d" }, { "fd00::6/64", "x" }, { "127.0.0.1/8", "" }, { "::1/128", "" },
		{ "169.254.1.1/16", "" }, { "fe80::1/64", "" },
	};
	unsigned before = 0;

	for (size_t i = 0; i < ARRAY_LEN(best_first); i++) {
		struct tcpx_addr a = addr_of(best_first[i].text);
		const char *f = best_first[i].flags;
		unsigned rank = tcpx_host_addr_rank(&a, *f == 'd' ? TCPX_LINK_DEPRECATED :
						    *f == 'x' ? TCPX_LINK_TENTATIVE :
						    *f ? TCPX_LINK_TEMPORARY : 0);

		if (i && rank <= before)
			fail_msg("%s: rank %u, that before it %u", best_first[i].text, rank, before);
		before = rank;
	}
}
