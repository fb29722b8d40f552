/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces and addresses of fixtures and of this machine. */
#include "../fixture.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include "host/links.h"
#include "tune/facts/netlink.h"

static struct tcpx_links links;
static struct tcpx_nl qdisc; /* what the kernel lists; of no length: it is asked itself */

ssize_t __wrap_recv(int fd, void *room, size_t cap, int flags);
ssize_t __real_recv(int fd, void *room, size_t cap, int flags);

ssize_t
__wrap_recv(int fd, void *room, size_t cap, int flags)
{
	struct nlmsghdr end = { .nlmsg_len = sizeof(end), .nlmsg_type = NLMSG_DONE };
	size_t len = qdisc.hdr.nlmsg_len;

	if (!len)
		return __real_recv(fd, room, cap, flags);
	assert_true(len + sizeof(end) <= cap && len % NLMSG_ALIGNTO == 0);
	memcpy(room, qdisc.bytes, len);
	memcpy((char *)room + len, &end, sizeof(end));
	return (ssize_t)(len + sizeof(end));
}

static int
read_links(const char *machine, const char *more)
{
	struct fixture f;
	int rc;

	fixture_init(&f);
	fixture_add_machine(&f, machine);
	if (more)
		fixture_write(&f, "addresses", more);
	rc = tcpx_links_read(f.root, &links);
	fixture_fini(&f);
	return rc;
}

static const struct tcpx_link *
find(const char *name)
{
	for (unsigned i = 0; i < links.count; i++)
		if (strcmp(links.link[i].name, name) == 0)
			return &links.link[i];
	return NULL;
}

TEST(interfaces_are_in_natural_order)
{
	struct fixture f;

	fixture_init(&f);
	fixture_add(&f, "nic name=eth10\nnic name=eth2\nnic name=eth1");
	assert_int_equal(tcpx_links_read(f.root, &links), 0);
	fixture_fini(&f);
	assert_int_equal(links.count, 3);
	check_text("second", links.link[1].name, "eth2");
	check_text("third", links.link[2].name, "eth10");
	tcpx_links_free(&links);
}

TEST(what_is_no_interface_is_left_out)
{
	assert_int_equal(read_links("weird", NULL), 0);
	assert_null(find("bonding_masters"));
	assert_null(find("looping"));
	assert_null(find("gone"));
	assert_non_null(find("abcdefghijklmno"));
	assert_non_null(find("semi;colon"));
	tcpx_links_free(&links);
}

TEST(state_and_flags_make_up)
{
	static const struct {
		const char *flags, *state;
		bool up, loopback;
	} rows[] = {
		{ "0x1003", "up", true, false },       { "0x1002", "up", false, false },
		{ "0x1003", "down", false, false },    { "0x1003", "dormant", false, false },
		{ "0x1003", "unknown", true, false },  { "0x9", "unknown", true, true },
		{ "junk", "up", false, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;
		char text[128];

		snprintf(text, sizeof(text), "nic name=n flags=%s state=%s", rows[i].flags,
			 rows[i].state);
		fixture_init(&f);
		fixture_add(&f, text);
		assert_int_equal(tcpx_links_read(f.root, &links), 0);
		fixture_fini(&f);
		check(text, "up", links.link[0].up, rows[i].up);
		check(text, "loopback", links.link[0].loopback, rows[i].loopback);
		tcpx_links_free(&links);
	}
}

TEST(the_best_addresses_are_kept_best_first)
{
	const struct tcpx_link *many;

	assert_int_equal(read_links("weird", NULL), 0);
	many = find("many");
	assert_non_null(many);
	assert_int_equal(many->addr_count, TCPX_HOST_ADDRESSES);
	for (unsigned i = 0; i < many->addr_count; i++)
		check("many", "last byte", many->addrs[i].ip[3], i + 1);
	tcpx_links_free(&links);

	assert_int_equal(read_links("virtio-2cpu", NULL), 0);
	assert_int_equal(find("eth0")->addr_count, 3);
	assert_int_equal(find("eth0")->addrs[0].family, 4);
	assert_int_equal(find("eth0")->addrs[1].ip[0], 0xfd);
	assert_int_equal(find("eth0")->addrs[2].ip[0], 0xfe);
	tcpx_links_free(&links);
}

TEST(bad_lines_of_addresses_are_left_out_with_a_warning)
{
	capture_start();
	assert_int_equal(read_links("virtio-2cpu", "# a comment\neth0 10.0.0.1/24\n"
				    "eth9 10.0.0.2/24\neth0 10.0.0.300\neth0\n\n"), 0);
	assert_int_equal(find("eth0")->addr_count, 1);
	assert_int_equal(captured_count("left out"), 2);
	tcpx_links_free(&links);
}

TEST(a_machine_of_nothing_has_no_interfaces)
{
	assert_int_equal(read_links("empty", NULL), 0);
	assert_int_equal(links.count, 0);
	tcpx_links_free(&links);
}

TEST(this_machine_has_its_interfaces)
{
	struct if_nameindex *names = if_nameindex();

	assert_int_equal(tcpx_links_read("/", &links), 0);
	for (unsigned i = 0; names && names[i].if_index; i++) {
		const struct tcpx_link *link = find(names[i].if_name);

		if (!link)
			fail_msg("%s is missing", names[i].if_name);
		check(names[i].if_name, "index", link->index, names[i].if_index);
	}
	if_freenameindex(names);
	tcpx_links_free(&links);
}

/* A token bucket says bytes, beyond 32 bits in an attribute of its own. */
TEST(a_link_is_limited_to_the_rate_of_its_token_bucket)
{
	enum { INDEX = 7 };
	static const struct {
		const char *kind;
		uint64_t rate, rate64, limit_bps;
		uint32_t parent;
		int index;
	} rows[] = {
		{ "tbf", 12500000, 0, 100000000, TC_H_ROOT, INDEX },
		{ "tbf", UINT32_MAX, 25000000000, 200000000000, TC_H_ROOT, INDEX },
		{ "tbf", 12500000, 0, 0, 0x10001, INDEX }, /* of a class */
		{ "tbf", 12500000, 0, 0, TC_H_ROOT, INDEX + 1 },
		{ "fq", 12500000, 0, 0, TC_H_ROOT, INDEX },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcmsg tc = { .tcm_ifindex = rows[i].index, .tcm_parent = rows[i].parent };
		struct tc_tbf_qopt parms = { .rate.rate = (uint32_t)rows[i].rate };
		struct tcpx_link link = { .name = "none", .index = INDEX };
		struct tcpx_links one = { &link, 1 };
		size_t options;

		tcpx_nl_init(&qdisc, RTM_NEWQDISC, 0, &tc, sizeof(tc));
		tcpx_nl_put_str(&qdisc, TCA_KIND, rows[i].kind);
		options = tcpx_nl_nest(&qdisc, TCA_OPTIONS);
		tcpx_nl_put(&qdisc, TCA_TBF_PARMS, &parms, sizeof(parms));
		if (rows[i].rate64)
			tcpx_nl_put(&qdisc, TCA_TBF_RATE64, &rows[i].rate64, sizeof(uint64_t));
		tcpx_nl_nest_end(&qdisc, options);
		assert_false(qdisc.full);
		tcpx_links_limits(&one);
		qdisc.hdr.nlmsg_len = 0;
		if (link.limit_bps != rows[i].limit_bps)
			fail_msg("row %zu: %llu bits/s, want %llu", i,
				 (unsigned long long)link.limit_bps,
				 (unsigned long long)rows[i].limit_bps);
	}
}
