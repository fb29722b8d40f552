/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces and addresses of fixtures and of this machine. */
#include "../fixture.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include "host/dump.h"
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
		check("many", "last byte", many->addrs[i].addr.ip[3], i + 1);
	tcpx_links_free(&links);

	assert_int_equal(read_links("virtio-2cpu", NULL), 0);
	assert_int_equal(find("eth0")->addr_count, 3);
	assert_int_equal(find("eth0")->addrs[0].addr.family, 4);
	assert_int_equal(find("eth0")->addrs[1].addr.ip[0], 0xfd);
	assert_int_equal(find("eth0")->addrs[2].addr.ip[0], 0xfe);
	tcpx_links_free(&links);
}

static void
add_link(unsigned index, const char *name, const char *kind, uint32_t flags, uint32_t lower, uint32_t master)
{
	struct ifinfomsg info = { .ifi_index = (int)index, .ifi_flags = flags };
	struct tcpx_nl m;

	tcpx_nl_init(&m, RTM_NEWLINK, 0, &info, sizeof(info));
	tcpx_nl_put_str(&m, IFLA_IFNAME, name);
	if (kind) {
		size_t nest = tcpx_nl_nest(&m, IFLA_LINKINFO);

		tcpx_nl_put_str(&m, IFLA_INFO_KIND, kind);
		tcpx_nl_nest_end(&m, nest);
	}
	if (lower)
		tcpx_nl_put_u32(&m, IFLA_LINK, lower);
	if (lower && !strcmp(name, "macvlan0")) /* that index counts elsewhere */
		tcpx_nl_put_u32(&m, IFLA_LINK_NETNSID, 0);
	if (master)
		tcpx_nl_put_u32(&m, IFLA_MASTER, master);
	if (!strcmp(name, "eth0")) {
		size_t nest = tcpx_nl_nest(&m, IFLA_PROP_LIST | NLA_F_NESTED);

		tcpx_nl_put_str(&m, IFLA_ALT_IFNAME, "enp6s0");
		tcpx_nl_put_str(&m, IFLA_ALT_IFNAME, "a-name-that-is-longer-than-all-the-room-that-is-there-"
				"for-other-names-of-one-NIC-together-is");
		tcpx_nl_put_str(&m, IFLA_ALT_IFNAME, "port-1");
		tcpx_nl_nest_end(&m, nest);
	}
	assert_false(m.full);
	tcpx_dump_take_link(&links, &m.hdr);
}

/* An entry as a kernel lists it that has drivers for them. */
TEST(the_kernels_list_says_what_links_are)
{
	static const struct {
		const char *name, *kind, *lower, *master, *alts;
		bool up, loopback;
	} want[] = {
		{ "lo", "", "", "", "", true, true },
		{ "eth0", "", "", "bond0", "enp6s0 port-1", true, false },
		{ "bond0", "bond", "", "", "", true, false },
		{ "bond0.7", "vlan", "bond0", "", "", false, false },
		{ "veth0", "veth", "", "br0", "", true, false },
		{ "br0", "bridge", "", "", "", true, false },
		{ "macvlan0", "macvlan", "", "", "", true, false },
	};
	enum { UP = IFF_UP | IFF_RUNNING };

	links = (struct tcpx_links){ .count = 0 };
	add_link(1, "lo", NULL, UP | IFF_LOOPBACK, 0, 0);
	add_link(2, "eth0", NULL, UP, 0, 5);
	add_link(5, "bond0", "bond", UP, 0, 0);
	add_link(6, "bond0.7", "vlan", IFF_UP, 5, 0);
	add_link(7, "veth0", "veth", UP, 2, 8); /* the other end's index */
	add_link(8, "br0", "bridge", UP, 0, 0);
	add_link(9, "macvlan0", "macvlan", UP, 2, 0);
	tcpx_dump_join(&links);
	assert_int_equal(links.count, ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		const struct tcpx_link *l = &links.link[i];

		check_text("name", l->name, want[i].name);
		check_text(l->name, l->kind, want[i].kind);
		check_text(l->name, l->lower, want[i].lower);
		check_text(l->name, l->master, want[i].master);
		check_text(l->name, l->alts, want[i].alts);
		check(l->name, "up", l->up, want[i].up);
		check(l->name, "loopback", l->loopback, want[i].loopback);
	}
	tcpx_links_free(&links);
}

static void
add_addr(unsigned index, const char *text, uint32_t flags, uint32_t made)
{
	struct ifaddrmsg info = { .ifa_index = index, .ifa_flags = (uint8_t)flags };
	struct ifa_cacheinfo times = { .cstamp = made };
	struct tcpx_addr a;
	struct tcpx_nl m;

	assert_int_equal(tcpx_host_addr_parse(text, &a), 0);
	info.ifa_family = a.family == 4 ? AF_INET : AF_INET6;
	info.ifa_prefixlen = a.prefix;
	tcpx_nl_init(&m, RTM_NEWADDR, 0, &info, sizeof(info));
	if (a.family == 4)
		tcpx_nl_put(&m, IFA_LOCAL, a.ip, 4);
	else
		tcpx_nl_put(&m, IFA_ADDRESS, a.ip, 16);
	tcpx_nl_put_u32(&m, IFA_FLAGS, flags);
	if (made)
		tcpx_nl_put(&m, IFA_CACHEINFO, &times, sizeof(times));
	tcpx_dump_take_address(&links, &m.hdr);
}

/* The kernel lists IPv4 from the oldest on, IPv6 from the newest on. */
TEST(addresses_are_in_the_order_that_the_kernel_would_take_them)
{
	static const char *const want[] = {
		"10.1.0.2/24", "10.1.0.100/32", "2001:db8::1/64", "2001:db8::2/64", "2001:db8::3/64",
		"2001:db8::9/64", "2001:db8::100/128", "fe80::1%2/64",
	};

	links = (struct tcpx_links){ .count = 0 };
	add_link(2, "eth0", NULL, IFF_UP, 0, 0);
	add_addr(2, "10.1.0.100/32", IFA_F_PERMANENT, 10);
	add_addr(2, "10.1.0.2/24", IFA_F_PERMANENT, 11);
	add_addr(2, "2001:db8::100/128", IFA_F_DEPRECATED, 40);
	add_addr(2, "2001:db8::bad/64", IFA_F_DADFAILED | IFA_F_TENTATIVE, 39);
	add_addr(2, "2001:db8::9/64", IFA_F_TEMPORARY, 13);
	add_addr(2, "2001:db8::3/64", IFA_F_OPTIMISTIC | IFA_F_TENTATIVE, 12);
	add_addr(2, "2001:db8::2/64", 0, 12);
	add_addr(2, "2001:db8::1/64", 0, 5);
	add_addr(2, "fe80::1/64", 0, 8);
	add_addr(3, "10.9.0.1/24", 0, 1); /* of no link that was listed */
	assert_int_equal(links.link[0].addr_count, ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		char text[TCPX_HOST_ADDR_TEXT];

		tcpx_host_addr_format(&links.link[0].addrs[i].addr, text, sizeof(text));
		check_text("address", text, want[i]);
	}
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
		struct tcpx_links one = { .link = &link, .count = 1 };
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
