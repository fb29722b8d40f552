/* SPDX-License-Identifier: Apache-2.0 */
/* NIC pairs by table: the answer a person would draw between two machines. */
#include <arpa/inet.h>
#include <errno.h>

#include "base_test.h"
#include "base/err.h"
#include "proto/pair.h"

/* NICs as "10.0.0.1/24 10.0.1.1/24", of engines that say names and places as
 * "10.0.0.1/24=eth1#2" or "10.0.0.1/24=eth1", which is on no bus; pairs as "0-0 1-1", in
 * order. */
static const struct {
	const char *name;
	const char *near, *far;
	const char *pairs; /* NULL: -ENONET */
} cases[] = {
	{ "same subnets, same order", "10.0.0.1/24 10.0.1.1/24", "10.0.0.2/24 10.0.1.2/24",
	  "0-0 1-1" },
	{ "same subnets, other order", "10.0.0.1/24 10.0.1.1/24 10.0.2.1/24",
	  "10.0.2.2/24 10.0.0.2/24 10.0.1.2/24", "0-1 1-2 2-0" },
	{ "one subnet for all, by order", "10.0.0.1/24 10.0.0.2/24", "10.0.0.8/24 10.0.0.9/24",
	  "0-0 1-1" },
	{ "odd prefix", "10.0.0.1/23 10.0.2.1/23", "10.0.3.2/23 10.0.1.2/23", "0-1 1-0" },
	{ "prefix unknown: by order", "10.0.1.1/0 10.0.0.1/0", "10.0.0.2/0 10.0.1.2/0",
	  "0-0 1-1" },
	{ "prefix known on one side", "10.0.1.1/24 10.0.0.1/24", "10.0.0.2/0 10.0.1.2/0",
	  "0-1 1-0" },
	{ "a known prefix goes before two unknown", "10.9.9.1/0 10.0.0.1/24",
	  "10.0.0.2/0 10.8.8.2/0", "1-0 0-1" },
	{ "one address a subnet: by order", "10.0.0.1/32 10.0.1.1/32", "10.9.0.2/32 10.9.1.2/32",
	  "0-0 1-1" },
	{ "a subnet first, the rest by order", "10.0.0.1/24 10.0.1.1/24 10.0.2.1/24",
	  "10.8.0.2/24 10.0.0.2/24 10.9.0.2/24", "0-1 1-0 2-2" },
	{ "4 to 1: all share it", "10.0.0.1/24 10.0.1.1/24 10.0.2.1/24 10.0.3.1/24",
	  "10.0.2.9/24", "2-0 0-0 1-0 3-0" },
	{ "1 to 4: it is shared", "10.0.2.9/24", "10.0.0.1/24 10.0.1.1/24 10.0.2.1/24 10.0.3.1/24",
	  "0-2 0-0 0-1 0-3" },
	{ "3 to 2: the least loaded is shared", "10.0.0.1/24 10.0.1.1/24 10.0.2.1/24",
	  "10.0.1.2/24 10.0.0.2/24", "0-1 1-0 2-0" },
	{ "3 to 2: its own subnet is shared first",
	  "10.0.0.1/24 10.0.1.1/24 10.0.1.7/24", "10.0.0.2/24 10.0.1.2/24", "0-0 1-1 2-1" },
	{ "5 to 2: sharing is even", "10.0.0.1/0 10.0.0.2/0 10.0.0.3/0 10.0.0.4/0 10.0.0.5/0",
	  "10.9.0.1/0 10.9.0.2/0", "0-0 1-1 2-0 3-1 4-0" },
	{ "loopback to itself", "127.0.0.1/8", "127.0.0.1/8", "0-0" },
	{ "loopback to nothing else", "127.0.0.1/8", "10.0.0.1/24", NULL },
	{ "v6 loopback to nothing else", "::1/128", "fd00::1/64", NULL },
	{ "loopback besides others", "127.0.0.1/8 10.0.0.1/24", "10.0.0.2/24 127.0.0.1/8",
	  "0-1 1-0" },
	{ "mixed families", "10.0.0.1/24 fd00::1/64 10.0.1.1/24",
	  "fd00::2/64 10.0.1.2/24 10.0.0.2/24", "0-2 1-0 2-1" },
	{ "a family on one side only is left out", "10.0.0.1/24 fd00::1/64", "10.0.0.2/24",
	  "0-0" },
	{ "no family in common", "10.0.0.1/24", "fd00::1/64", NULL },
	{ "v6 subnets, other order", "fd00:0:0:1::1/64 fd00:0:0:2::1/64",
	  "fd00:0:0:2::2/64 fd00:0:0:1::2/64", "0-1 1-0" },
	{ "a /31 for each: by name", "10.1.0.0/31=rail1 10.2.0.0/31=rail2 10.3.0.0/31=rail3",
	  "10.2.1.0/31=rail2 10.1.1.0/31=rail1 10.3.1.0/31=rail3", "0-1 1-0 2-2" },
	{ "one NIC down there: its partner shares", "10.1.0.0/31=rail1 10.2.0.0/31=rail2 10.3.0.0/31=rail3",
	  "10.2.1.0/31=rail2 10.3.1.0/31=rail3", "1-0 2-1 0-0" },
	{ "one NIC down here", "10.1.0.0/31=rail1 10.3.0.0/31=rail3",
	  "10.1.1.0/31=rail1 10.2.1.0/31=rail2 10.3.1.0/31=rail3", "0-0 1-2 0-1" },
	{ "a /32 for each: by name", "10.0.0.1/32=eth1 10.0.1.1/32=eth2",
	  "10.9.0.2/32=eth2 10.9.1.2/32=eth1", "0-1 1-0" },
	{ "other names: by place", "10.0.0.1/32=ens1#3 10.0.1.1/32=ens2#1 10.0.2.1/32=ens3#2",
	  "10.9.0.2/32=mlx0#1 10.9.1.2/32=mlx1#2 10.9.2.2/32=mlx2#3", "0-2 1-0 2-1" },
	{ "a name counts more than a place", "10.0.0.1/32=eth1#1 10.0.1.1/32=eth2#2",
	  "10.9.0.2/32=eth2#1 10.9.1.2/32=eth1#2", "0-1 1-0" },
	{ "a subnet counts more than a name", "10.0.0.1/24=eth1#1 10.0.1.1/24=eth2#2",
	  "10.0.1.2/24=eth1#1 10.0.0.2/24=eth2#2", "0-1 1-0" },
	{ "of one subnet those of one name first", "10.0.0.1/24=eth1 10.0.0.2/24=eth0",
	  "10.0.0.8/24=eth0 10.0.0.9/24=eth1", "0-1 1-0" },
	{ "... and then of one place", "10.0.0.1/24=a1#2 10.0.0.2/24=a2#1",
	  "10.0.0.8/24=b1#1 10.0.0.9/24=b2#2", "0-1 1-0" },
	{ "no place is no place in common", "10.0.0.1/32=a1 10.0.1.1/32=a2#1",
	  "10.9.0.2/32=b1#2 10.9.1.2/32=b2", "0-0 1-1" },
	{ "masks that differ: by name", "10.0.0.1/32=eth1 10.0.0.2/32=eth2",
	  "10.0.0.9/24=eth2 10.0.0.8/24=eth1", "0-1 1-0" },
	{ "an engine that says no names: by order", "10.1.0.0/31=rail1 10.2.0.0/31=rail2",
	  "10.2.1.0/31 10.1.1.0/31", "0-0 1-1" },
	{ "IPv6 beside IPv4: names do not bridge families", "10.1.0.0/31=rail1 fd00:2::1/127=rail2",
	  "fd00:1::2/127=rail1 10.2.1.0/31=rail2", "0-1 1-0" },
	{ "1 to 8, its own subnet first", "10.0.5.1/24=eth0",
	  "10.0.0.2/24=e0 10.0.1.2/24=e1 10.0.2.2/24=e2 10.0.3.2/24=e3 10.0.4.2/24=e4 10.0.5.2/24=e5 "
	  "10.0.6.2/24=e6 10.0.7.2/24=e7", "0-5 0-0 0-1 0-2 0-3 0-4 0-6 0-7" },
	{ "nothing here", "", "10.0.0.1/24", NULL },
	{ "nothing there", "10.0.0.1/24", "", NULL },
};

struct nics {
	struct tcpx_pair_nic at[8];
	char name[8][32];
	uint32_t count;
};

static void
nics_parse(const char *text, struct nics *nics)
{
	char addr[64];
	unsigned prefix, place;
	int used;

	for (nics->count = 0; sscanf(text, " %63[^/]/%u%n", addr, &prefix, &used) == 2; nics->count++) {
		struct tcpx_pair_nic *n = &nics->at[nics->count];
		char *name = nics->name[nics->count];

		text += used;
		*n = (struct tcpx_pair_nic){ .addr = { .family = strchr(addr, ':') ? 6 : 4,
						       .prefix = (uint8_t)prefix }, .name = name };
		assert_int_equal(inet_pton(n->addr.family == 4 ? AF_INET : AF_INET6, addr, n->addr.ip), 1);
		name[0] = '\0';
		if (sscanf(text, "=%31[^# ]%n", name, &used) != 1)
			continue;
		text += used;
		if (sscanf(text, "#%u%n", &place, &used) == 1) {
			text += used;
			n->place = (uint8_t)place;
		}
	}
}

TEST(pairs_follow_the_table)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tcpx_pair out[16];
		struct nics near, far;
		char text[128] = "";
		int n;

		nics_parse(cases[i].near, &near);
		nics_parse(cases[i].far, &far);
		n = tcpx_pair_plan(near.at, near.count, far.at, far.count, out, ARRAY_LEN(out));
		check(cases[i].name, "code", n < 0 ? n : 0, cases[i].pairs ? 0 : -ENONET);
		for (int k = 0; k < n; k++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u-%u",
				 k ? " " : "", out[k].near, out[k].far);
		if (n > 0)
			check_text(cases[i].name, text, cases[i].pairs);
	}
}

TEST(channels_go_round_the_pairs)
{
	struct tcpx_pair out[11];
	struct nics near, far;

	nics_parse("10.0.0.1/24 10.0.1.1/24 10.0.2.1/24", &near);
	nics_parse("10.0.1.2/24 10.0.2.2/24 10.0.0.2/24", &far);
	assert_int_equal(tcpx_pair_plan(near.at, 3, far.at, 3, out, 11), 3);
	for (uint32_t k = 0; k < 11; k++) {
		assert_int_equal(out[k].near, k % 3);
		assert_int_equal(out[k].far, (k + 2) % 3);
	}
}

TEST(fewer_channels_than_pairs_still_count_pairs)
{
	struct tcpx_pair out[1] = { { 9, 9 } };
	struct nics near, far;

	nics_parse("10.0.0.1/24 10.0.1.1/24 10.0.2.1/24 10.0.3.1/24", &near);
	nics_parse("10.0.0.2/24 10.0.1.2/24 10.0.2.2/24 10.0.3.2/24", &far);
	assert_int_equal(tcpx_pair_plan(near.at, 4, far.at, 4, out, 1), 4);
	assert_int_equal(out[0].near, 0);
	assert_int_equal(tcpx_pair_plan(near.at, 4, far.at, 4, NULL, 0), 4);
}

/* Random lists: every NIC that could talk to something has a pair, and no pair is odd. */
TEST(every_nic_that_can_talk_is_used)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 500; round++) {
		static const char *const names[] = { "eth0", "eth1", "eth2", "eth3" };
		struct tcpx_pair_nic nic[2][70];
		uint32_t count[2];
		struct tcpx_pair out[140];
		int n;

		for (int side = 0; side < 2; side++) {
			count[side] = (uint32_t)tcpx_rng_below(&rng, round % 50 ? 9 : 70);
			for (uint32_t i = 0; i < count[side]; i++)
				nic[side][i] = (struct tcpx_pair_nic){
					.addr = { .family = tcpx_rng_below(&rng, 4) ? 4 : 6,
						  .prefix = tcpx_rng_below(&rng, 4) ? 24 : 0,
						  .ip = { 10, 0, tcpx_rng_below(&rng, 4), i } },
					.name = names[tcpx_rng_below(&rng, 4)],
					.place = (uint8_t)tcpx_rng_below(&rng, 5) };
		}
		n = tcpx_pair_plan(nic[0], count[0], nic[1], count[1], out, ARRAY_LEN(out));
		for (uint32_t i = 0; i < count[0] && i < 64; i++) {
			bool could = false, has = false;

			for (uint32_t j = 0; j < count[1] && j < 64; j++)
				could |= nic[0][i].addr.family == nic[1][j].addr.family;
			for (int k = 0; k < n; k++)
				has |= out[k].near == i;
			check_random(seed, could == has);
		}
		for (int k = 0; k < n; k++) {
			check_random(seed, out[k].near < count[0] && out[k].far < count[1]);
			check_random(seed, nic[0][out[k].near].addr.family ==
						   nic[1][out[k].far].addr.family);
			for (int m = 0; m < k; m++)
				check_random(seed, out[m].near != out[k].near ||
							   out[m].far != out[k].far);
		}
	}
}

TEST(the_reason_names_whose_addresses_are_loopback_only)
{
	static const struct {
		const char *ours, *theirs, *say;
	} none[] = {
		{ "10.0.0.1/24", "127.0.0.1/8 ::1/128",
		  "peer bert offers only loopback addresses, and this engine has no lo: use nics=lo" },
		{ "127.0.0.1/8", "10.0.0.1/24",
		  "this engine offers only loopback addresses, and peer bert has no lo: name a NIC" },
		{ "127.0.0.1/8", "::1/128", "an address family in common with one of peer bert's" },
		{ "10.0.0.1/24", "fd00::1/64", "an address family in common with one of peer bert's" },
	};
	char text[256];
	struct nics a, b;

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		nics_parse(none[i].ours, &a);
		nics_parse(none[i].theirs, &b);
		tcpx_pair_none(a.at, a.count, b.at, b.count, "bert", text, sizeof(text));
		assert_non_null(strstr(text, none[i].say));
	}
}

int
main(void)
{
	tcpx_log_setup("NONE", NULL, NULL); /* refusals are what is tested */
	return run_cases(NULL, NULL);
}
