/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of networks: which texts are one, and which addresses lie in them. */
#include "base_test.h"

#include <errno.h>
#include <stdio.h>

#include "base/nets.h"

static const struct {
	const char *list;
	int rc;
} lists[] = {
	{ "", 0 },
	{ "10.0.0.0/8", 0 },
	{ "10.0.0.0/8,fd00::/8,192.168.1.7", 0 },
	{ "10.0.0.0/8, fd00::/8 ,192.168.1.7", 0 },
	{ "0.0.0.0/0,::/0", 0 },
	{ "10.1.2.3/8", 0 },
	{ "::ffff:10.0.0.0/104", 0 },
	{ "255.255.255.255/32", 0 },
	{ "fe80::1/128", 0 },
	{ " ", -EINVAL },
	{ ",", -EINVAL },
	{ "10.0.0.0/8,", -EINVAL },
	{ ",10.0.0.0/8", -EINVAL },
	{ "10.0.0.0/8,,fd00::/8", -EINVAL },
	{ "10.0.0.0/8;fd00::/8", -EINVAL },
	{ "10.0.0.0/33", -EINVAL },
	{ "fd00::/129", -EINVAL },
	{ "10.0.0.0/", -EINVAL },
	{ "10.0.0.0/-1", -EINVAL },
	{ "10.0.0.0/8/8", -EINVAL },
	{ "10.0.0.0/255.0.0.0", -EINVAL },
	{ "10.0.0.0/18446744073709551624", -EINVAL },
	{ "/8", -EINVAL },
	{ "10.0/16", -EINVAL },
	{ "10.0.0.1:80", -EINVAL },
	{ "[fd00::1]:80", -EINVAL },
	{ "fe80::1%1", -EINVAL },
	{ "localhost", -EINVAL },
	{ "eth1", -EINVAL },
	{ "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd:eeee", -EINVAL },
};

TEST(list_table)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		check(lists[i].list, "rc", tcpx_nets_check(lists[i].list), lists[i].rc);
}

static const struct {
	const char *list, *address;
	bool in;
} lookups[] = {
	{ "", "10.0.0.1", false },
	{ "10.0.0.0/8", "10.255.0.1:4711", true },
	{ "10.0.0.0/8", "11.0.0.1", false },
	{ "10.0.0.0/8", "9.255.255.255", false },
	{ "10.1.2.3/8", "10.200.0.1", true },
	{ "10.16.0.0/12", "10.31.255.255", true },
	{ "10.16.0.0/12", "10.32.0.0", false },
	{ "10.16.0.0/12", "10.15.255.255", false },
	{ "192.168.1.7", "192.168.1.7:1", true },
	{ "192.168.1.7", "192.168.1.6", false },
	{ "192.168.1.6/31", "192.168.1.7", true },
	{ "10.0.0.0/8,fd00::/8,192.168.1.7", "192.168.1.7", true },
	{ "10.0.0.0/8, fd00::/8 , 192.168.1.7", "192.168.1.7", true },
	{ "10.0.0.0/8,fd00::/8,192.168.1.7", "[fdff::1]:80", true },
	{ "10.0.0.0/8,fd00::/8,192.168.1.7", "fc00::1", false },
	{ "fd00::/9", "fd7f::1", true },
	{ "fd00::/9", "fd80::1", false },
	{ "fd00::1", "fd00::1", true },
	{ "fd00::1", "fd00::2", false },
	{ "0.0.0.0/0", "203.0.113.9", true },
	{ "0.0.0.0/0", "fd00::1", false },
	{ "::/0", "fd00::1", true },
	{ "::/0", "10.0.0.1", false },
	/* IPv4 within IPv6 is IPv4 */
	{ "10.0.0.0/8", "::ffff:10.0.0.1", true },
	{ "::/0", "::ffff:10.0.0.1", false },
	{ "::ffff:10.0.0.0/104", "10.9.8.7", true },
	{ "::ffff:10.0.0.0/104", "::ffff:11.0.0.1", false },
	{ "::ffff:0:0/96", "203.0.113.9", true },
	/* the first four bytes of an IPv6 address are no IPv4 address */
	{ "32.1.13.184/32", "2001:db8::1", false },
};

TEST(lookup_table)
{
	for (size_t i = 0; i < ARRAY_LEN(lookups); i++) {
		struct tcpx_addr a;
		char name[128];

		snprintf(name, sizeof(name), "%s in \"%s\"", lookups[i].address, lookups[i].list);
		assert_int_equal(tcpx_addr_parse(lookups[i].address, &a), 0);
		check(name, "in", tcpx_nets_have(lookups[i].list, &a), lookups[i].in);
	}
}
