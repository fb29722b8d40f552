/* SPDX-License-Identifier: Apache-2.0 */
/* What filters say of port 28515, and the route to a peer. */
#include "../base/base_test.h"

#include "tune/doctor/firewall.h"
#include "tune/doctor/peer_route.h"

#define SAVE(policy, rules) "# a comment\n*nat\n:INPUT ACCEPT [0:0]\n-A INPUT -j DROP\nCOMMIT\n" \
	"*filter\n:INPUT " policy " [0:0]\n:FORWARD DROP [0:0]\n:mine - [0:0]\n" rules "COMMIT\n"
#define NFT(policy, rules) "table inet filter {\n\tset s {\n\t\ttype ipv4_addr\n\t\telements = { 1.2.3.4," \
	"\n\t\t\t     5.6.7.8 }\n\t}\n\n\tchain mine {\n\t\ttcp dport 28000-29000 accept\n\t}\n\n" \
	"\tchain input {\n\t\ttype filter hook input priority filter; policy " policy ";\n" rules \
	"\t}\n\n\tchain forward {\n\t\ttype filter hook forward priority 0; policy drop;\n\t}\n}\n"

static const struct {
	const char *name, *rules, *want; /* NULL: no filter */
} rows[] = {
	{ "nothing", "", NULL },
	{ "another hook", "table inet t {\n\tchain c {\n\t\ttype filter hook forward priority 0; "
	  "policy drop;\n\t}\n}\n", NULL },
	{ "open", SAVE("ACCEPT", ""), "policy ACCEPT" },
	{ "shut", SAVE("DROP", ""), "policy DROP" },
	{ "port", SAVE("DROP", "-A INPUT -p tcp -m tcp --dport 28515 -j ACCEPT\n"),
	  "policy DROP; -A INPUT -p tcp -m tcp --dport 28515 -j ACCEPT" },
	{ "other ports", SAVE("DROP", "-A INPUT -p tcp -m multiport --dports 22,80,28516 -j ACCEPT\n"),
	  "policy DROP" },
	{ "range in a list", SAVE("DROP", "-A INPUT -m multiport --dports 22,28000:29000 -j ACCEPT\n"),
	  "policy DROP; -A INPUT -m multiport --dports 22,28000:29000 -j ACCEPT" },
	{ "a number elsewhere", SAVE("DROP", "-A INPUT -m mark --mark 28515 -j ACCEPT\n"),
	  "policy DROP" },
	{ "nft shut", NFT("drop", ""), "tcp dport 28000-29000 accept; policy drop" },
	{ "nft port", NFT("accept", "\t\ttcp dport { 22, 28515 } drop\n"),
	  "tcp dport 28000-29000 accept; policy accept; tcp dport { 22, 28515 } drop" },
	{ "nft without a policy", "chain c {\ntype filter hook input priority filter;\n}\n",
	  "policy accept" },
};

TEST(policies_and_our_rules_are_quoted)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char out[256];

		check(rows[i].name, "filter", firewall_quote(rows[i].rules, 28515, out, sizeof(out)),
		      rows[i].want != NULL);
		if (rows[i].want)
			check_text(rows[i].name, out, rows[i].want);
	}
}

TEST(a_quotation_is_cut_to_its_room)
{
	char out[16];

	assert_true(firewall_quote(SAVE("DROP", "-A INPUT -p tcp --dport 28515 -j ACCEPT\n"), 28515,
				   out, sizeof(out)));
	assert_string_equal(out, "policy DROP; -A");
}

TEST(any_text_is_a_ruleset)
{
	static const char *const words[] = {
		"-A ", "INPUT ", "*filter\n", ":INPUT DROP\n", ":INPUT ", "\n", "{", "}", "hook input",
		"policy ", "policy drop;", "tcp dport ", "--dports ", "1", "0-", ":", ",", "\xff", "\t",
	};
	struct tcpx_rng rng = tcpx_rng_seed(test_seed());

	for (unsigned i = 0; i < 500; i++) {
		char text[1024] = "", out[64];

		while (tcpx_rng_below(&rng, 60) && strlen(text) < 900)
			strcat(text, words[tcpx_rng_below(&rng, ARRAY_LEN(words))]);
		(void)firewall_quote(text, 1, out, sizeof(out));
		check_random(test_seed(), strlen(out) < sizeof(out));
	}
}

/* Addresses of the table are in this machine's byte order: 0A000000 is 10.0.0.0. */
TEST(routes_are_found)
{
	static const char table[] =
		"Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n"
		"eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\n"
		"eth1\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\n"
		"eth2\t0001000A\t00000000\t0001\t0\t0\t5\t00FFFFFF\n"
		"eth3\t0001000A\t00000000\t0001\t0\t0\t4\t00FFFFFF\n"
		"eth4\t0002000A\t00000000\t0000\t0\t0\t0\t00FFFFFF\n"
		"a line that is none\n";
	static const struct {
		const char *to, *by;
	} ways[] = {
		{ "10.0.1.9", "eth3" }, { "10.7.1.9", "eth1" }, { "10.0.2.9", "eth1" },
		{ "192.0.2.1", "eth0" }, { "fe80::1", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct tcpx_addr to;
		char by[16] = "";

		assert_int_equal(tcpx_host_addr_parse(ways[i].to, &to), 0);
		check(ways[i].to, "found", peer_route_find(table, &to, by, sizeof(by)), *ways[i].by != 0);
		check_text(ways[i].to, by, ways[i].by);
	}
}

TEST(peers_are_listed)
{
	struct peer_addr peer[PEERS_MAX];
	char why[192], many[1024] = "";
	unsigned count;

	assert_int_equal(peer_list_parse("10.0.0.1,10.0.0.2:99,[fe80::1]:7,::1", 5, false, peer, &count,
					 why, sizeof(why)), 0);
	check("list", "count", count, 4);
	check("default", "port", peer[0].port, 5);
	check("given", "port", peer[1].port, 99);
	check("IPv6", "port", peer[2].port, 7);
	check_text("IPv6", peer[2].text, "fe80::1");
	check("IPv6 alone", "port", peer[3].port, 5);
	for (unsigned i = 0; i <= PEERS_MAX; i++)
		strcat(many, "10.0.0.1,");
	for (const char *const *bad = (const char *const[]){ "", "a", "10.0.0.1:", "10.0.0.1:65536",
			"10.0.0.1:9x", "[::1", ",", many, NULL }; *bad; bad++)
		if (peer_list_parse(*bad, 5, false, peer, &count, why, sizeof(why)) == 0)
			fail_msg("\"%s\" is taken", *bad);
}
