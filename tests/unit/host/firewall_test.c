/* SPDX-License-Identifier: Apache-2.0 */
/* What filters do to a connection to port 28515 by eth1, and which way a peer lies. */
#include "../base/base_test.h"

#include "tool/doctor/firewall.h"
#include "tool/doctor/peer_route.h"

#define PASS FIREWALL_ACCEPT
#define DROP FIREWALL_DROP
#define EITHER (FIREWALL_ACCEPT | FIREWALL_DROP)
#define SAVE(policy, rules) "# a comment\n*nat\n:INPUT ACCEPT [0:0]\n-A INPUT -j DROP\nCOMMIT\n" \
	"*filter\n:INPUT " policy " [0:0]\n:FORWARD DROP [0:0]\n:mine - [0:0]\n" rules "COMMIT\n"
#define NFT(policy, rules) "table inet filter {\n\tset s {\n\t\ttype ipv4_addr\n\t\telements = { 1.2.3.4," \
	"\n\t\t\t     5.6.7.8 }\n\t}\n\n\tchain mine {\n\t\ttcp dport 28000-29000 accept\n\t}\n\n" \
	"\tchain input {\n\t\ttype filter hook input priority filter; policy " policy ";\n" rules \
	"\t}\n\n\tchain forward {\n\t\ttype filter hook forward priority 0; policy drop;\n\t}\n}\n"

static const struct {
	const char *name, *rules;
	unsigned want;
} rows[] = {
	{ "nothing", "", PASS },
	{ "open", SAVE("ACCEPT", ""), PASS },
	{ "shut", SAVE("DROP", ""), DROP },
	{ "port", SAVE("DROP", "-A INPUT -p tcp -m tcp --dport 28515 -j ACCEPT\n"), PASS },
	{ "other port", SAVE("DROP", "-A INPUT -p tcp -m tcp --dport 28516 -j ACCEPT\n"), DROP },
	{ "range", SAVE("DROP", "-A INPUT -p tcp --dport 1024:65535 -j ACCEPT\n"), PASS },
	{ "list", SAVE("DROP", "-A INPUT -p tcp -m multiport --dports 22,80,28000:29000 -j ACCEPT\n"),
	  PASS },
	{ "list without", SAVE("DROP", "-A INPUT -p tcp -m multiport --dports 22,80 -j ACCEPT\n"), DROP },
	{ "UDP", SAVE("DROP", "-A INPUT -p udp --dport 28515 -j ACCEPT\n"), DROP },
	{ "NIC", SAVE("DROP", "-A INPUT -i eth1 -j ACCEPT\n"), PASS },
	{ "other NIC", SAVE("DROP", "-A INPUT -i eth0 -j ACCEPT\n"), DROP },
	{ "beginning of NICs", SAVE("DROP", "-A INPUT -i eth+ -j ACCEPT\n"), PASS },
	{ "not that NIC", SAVE("ACCEPT", "-A INPUT ! -i lo -j DROP\n"), DROP },
	{ "old ones only", SAVE("DROP", "-A INPUT -m state --state RELATED,ESTABLISHED -j ACCEPT\n"),
	  DROP },
	{ "new ones", SAVE("DROP", "-A INPUT -m conntrack --ctstate NEW,ESTABLISHED -j ACCEPT\n"), PASS },
	{ "some sources", SAVE("DROP", "-A INPUT -s 10.0.0.0/8 -j ACCEPT\n"), EITHER },
	{ "some are refused", SAVE("ACCEPT", "-A INPUT -s 10.0.0.0/8 -j DROP\n"), EITHER },
	{ "the first counts", SAVE("ACCEPT", "-A INPUT -p tcp -j ACCEPT\n-A INPUT -j DROP\n"), PASS },
	{ "reject", SAVE("ACCEPT", "-A INPUT -j REJECT --reject-with icmp-host-prohibited\n"), DROP },
	{ "log first", SAVE("ACCEPT", "-A INPUT -j LOG --log-prefix \"a b: \"\n-A INPUT -j DROP\n"), DROP },
	{ "jump", SAVE("DROP", "-A INPUT -j mine\n-A mine -p tcp -j ACCEPT\n"), PASS },
	{ "jump and back", SAVE("DROP", "-A INPUT -j mine\n-A mine -j RETURN\n-A mine -j ACCEPT\n"), DROP },
	{ "goto does not come back", SAVE("DROP", "-A INPUT -g mine\n-A INPUT -j ACCEPT\n"), DROP },
	{ "round and round", SAVE("ACCEPT", "-A INPUT -j mine\n-A mine -j mine\n"), PASS },
	{ "chains that meet", SAVE("DROP", "-A INPUT -j mine\n-A mine -j a\n-A mine -j a\n-A a -j b\n"
	  "-A a -j b\n-A b -j a\n-A b -j mine\n-A b -p tcp -j ACCEPT\n"), PASS },
	{ "comment", SAVE("DROP", "-A INPUT -m comment --comment \"-j DROP\" -p tcp -j ACCEPT\n"), PASS },
	{ "nft open", NFT("accept", ""), PASS },
	{ "nft shut", NFT("drop", ""), DROP },
	{ "nft usual", NFT("drop", "\t\tiif \"lo\" accept\n\t\tct state established,related accept\n"
	  "\t\tct state invalid drop\n\t\ttcp dport 22 accept\n"), DROP },
	{ "nft port", NFT("drop", "\t\ttcp dport 28515 accept\n"), PASS },
	{ "nft set of ports", NFT("drop", "\t\ttcp dport { 22, 28000-29000 } accept\n"), PASS },
	{ "nft counted", NFT("drop", "\t\ttcp dport { 22 } counter packets 7 bytes 420 accept\n"
	  "\t\tcounter packets 1 bytes 60 drop\n"), DROP },
	{ "nft NIC", NFT("drop", "\t\tiifname \"eth1\" accept\n"), PASS },
	{ "nft NICs", NFT("drop", "\t\tiifname { \"eth0\", \"eth1\" } tcp dport 1024-65535 accept\n"),
	  PASS },
	{ "nft not NIC", NFT("accept", "\t\tiifname != \"lo\" drop\n"), DROP },
	{ "nft UDP", NFT("drop", "\t\tudp dport 28515 accept\n"), DROP },
	{ "nft protocols", NFT("drop", "\t\tmeta l4proto { tcp, udp } accept\n"), PASS },
	{ "nft ping", NFT("drop", "\t\tip protocol icmp accept\n\t\ticmpv6 type echo-request accept\n"),
	  DROP },
	{ "nft sources", NFT("drop", "\t\tip saddr 10.0.0.0/8 accept\n"), EITHER },
	{ "nft named set", NFT("drop", "\t\ttcp dport @open accept\n"), EITHER },
	{ "nft jump", NFT("drop", "\t\tjump mine\n"), PASS },
	{ "nft goto", NFT("accept", "\t\tgoto mine\n\t\tdrop\n"), PASS },
	{ "nft reject", NFT("accept", "\t\treject with icmpx admin-prohibited\n"), DROP },
	{ "nft map", NFT("drop", "\t\tct state vmap { established : accept, new : jump mine }\n"), DROP },
	{ "one of two drops", NFT("accept", "") SAVE("DROP", ""), DROP },
};

static void
filters_are_read(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].name, "may be", firewall_judge(rows[i].rules, "eth1", 28515),
		      rows[i].want);
}

static void
any_text_is_a_ruleset(void **state)
{
	static const char *const words[] = {
		"-A ", "INPUT ", "*filter\n", ":INPUT DROP\n", "\n", "{", "}", "table inet t {\n",
		"\tchain c {\n", "type filter hook input; policy drop;\n", "jump c ", "\"", ",", "accept ",
		"tcp dport ", "-j ", "-p ", "!= ", "0-", "\xff", "vmap ", "ct state ", "counter packets ",
	};
	struct tcpx_rng rng = tcpx_rng_seed(test_seed());

	for (unsigned i = 0; i < 500; i++) {
		char text[1024] = "";

		while (tcpx_rng_below(&rng, 60) && strlen(text) < 900)
			strcat(text, words[tcpx_rng_below(&rng, ARRAY_LEN(words))]);
		check_random(test_seed(), firewall_judge(text, "eth1", 1) <= EITHER);
	}
}

/* Addresses of the table are in this machine's byte order: 0A000000 is 10.0.0.0. */
static void
routes_are_found(void **state)
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
		struct tcpx_host_addr to;
		char by[16] = "";

		assert_int_equal(tcpx_host_addr_parse(ways[i].to, &to), 0);
		check(ways[i].to, "found", peer_route_find(table, &to, by, sizeof(by)), *ways[i].by != 0);
		check_text(ways[i].to, by, ways[i].by);
	}
}

static void
peers_are_listed(void **state)
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_are_read),
		cmocka_unit_test(any_text_is_a_ruleset),
		cmocka_unit_test(routes_are_found),
		cmocka_unit_test(peers_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
