/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of NICs, over a machine that has one of each kind. */
#include "../fixture.h"

#include <errno.h>

#include "host/host.h"

static const struct {
	const char *name;
	const char *addr; /* NULL: none */
	bool up, loopback, bridge_port;
} kinds[] = {
	{ "docker0", "172.17.0.1/16", true, false, false },
	{ "eth0", "10.0.0.1/24", true, false, false },
	{ "eth1", "10.0.1.1/24", true, false, false },
	{ "eth2", "10.0.2.1/24", false, false, false },
	{ "eth3", NULL, true, false, false },
	{ "eth10", "10.0.10.1/24", true, false, false },
	{ "lo", "127.0.0.1/8", true, true, false },
	{ "six", "fd00::6/64", true, false, false },
	{ "tap", "10.0.20.1/24", true, false, true },
	{ "vethab12", "10.0.21.1/24", true, false, false },
	{ "zlocal", "fe80::1/64", true, false, false },
};

static struct tcpx_host_nic all[ARRAY_LEN(kinds)];
static struct tcpx_host_nic out[TCPX_HOST_NICS];

static int
make_all(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct tcpx_host_nic *nic = &all[i];

		strcpy(nic->name, kinds[i].name);
		strcpy(nic->ifname, kinds[i].name);
		nic->up = kinds[i].up;
		nic->loopback = kinds[i].loopback;
		nic->bridge_port = kinds[i].bridge_port;
		if (!kinds[i].addr)
			continue;
		assert_int_equal(tcpx_host_addr_parse(kinds[i].addr, &nic->addr), 0);
		nic->addrs[0] = nic->addr;
		nic->addr_count = 1;
	}
	strcpy(all[2].alts, "enp6s0 nic-1 sixth");
	tcpx_host_nics_judge(all, ARRAY_LEN(all));
	return 0;
}

/* The chosen names between blanks, or the code. */
static const char *
choose(const char *selection, unsigned cap)
{
	static char text[1024];
	unsigned count = 99;
	int rc = tcpx_host_nics_select(all, ARRAY_LEN(all), selection, out, cap, &count);
	size_t len = 0;

	if (rc < 0) {
		assert_int_equal(count, 99);
		snprintf(text, sizeof(text), "%d", rc);
		return text;
	}
	text[0] = '\0';
	for (unsigned i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "",
					out[i].name);
	return text;
}

TEST(selections_choose_as_nccl_does)
{
	static const struct {
		const char *selection, *names;
	} rows[] = {
		{ NULL, "eth0 eth1 eth10 six" },
		{ "", "eth0 eth1 eth10 six" },
		{ "eth", "eth0 eth1 eth10" },
		{ "eth1", "eth1 eth10" },
		{ "=eth1", "eth1" },
		{ "=eth1,eth0", "eth1 eth0" },
		{ "=eth", "-19" },
		{ "eth10,eth1", "eth10 eth1" },
		{ "eth0,eth0,eth", "eth0 eth1 eth10" },
		{ "^eth", "six" },
		{ "^eth0", "eth1 eth10 six" },
		{ "^=eth1", "eth0 eth10 six" },
		{ "^lo,docker", "eth0 eth1 eth10 six" },
		{ "^eth,six", "lo" },
		{ "^eth,six,lo", "-19" },
		{ "docker", "docker0" },
		{ "lo", "lo" },
		{ "tap,veth", "tap vethab12" },
		{ "zlocal", "zlocal" },
		{ "eth0,zlocal", "eth0 zlocal" },
		{ "eth2", "-19" },
		{ "eth3", "-19" },
		{ "eth2,eth0", "eth2 eth0" }, /* down, but spelled out: its link may come */
		{ "=eth0,eth2", "eth0 eth2" },
		{ "eth3,eth0", "eth3 eth0" }, /* no address, but spelled out */
		{ "eth2,eth3", "-19" },
		{ "10.0.2.1,eth0", "10.0.2.1 eth0" },
		{ "ib0,eth0", "eth0" },
		{ "nothing", "-19" },
		{ "enp6", "eth1" }, /* another name of eth1 */
		{ "=enp6s0", "eth1" },
		{ "=enp6", "-19" },
		{ "=nic-1", "eth1" },
		{ "^enp6s0", "eth0 eth10 six" },
		{ "si", "six" }, /* no other name counts beside an interface's own */
		{ "127.0.1.1,127.0.2.1", "127.0.1.1 127.0.2.1" },
		{ "127.0.2.1,eth0,127.0.1.1", "127.0.2.1 eth0 127.0.1.1" },
		{ "127.0.1.1,127.0.1.1", "127.0.1.1" },
		{ "10.0.1.1", "10.0.1.1" },
		{ "eth1,10.0.1.1", "eth1 eth10" },
		{ "fd00::6", "fd00::6" },
		{ "fd00:0000:0000:0000:0000:0000:0000:0006", "0:0000:0000:0000:0000:0000:0006" },
		{ "fd00::7", "-19" },
		{ "10.0.1.2", "-19" },
		{ "10.0.2.1", "-19" },
		{ "^10.0.1.1", "eth0 eth10 six" },
		{ "^", "-22" },
		{ "=", "-22" },
		{ ",", "-22" },
		{ "eth0,", "-22" },
		{ "eth0,,eth1", "-22" },
		{ "123456789012345678901234567890123456789012345678", "-22" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_text(rows[i].selection ? rows[i].selection : "NULL",
			   choose(rows[i].selection, TCPX_HOST_NICS), rows[i].names);
}

TEST(an_address_nic_has_the_facts_of_its_interface)
{
	char text[TCPX_HOST_ADDR_TEXT];

	check_text("names", choose("127.0.3.9", 4), "127.0.3.9");
	check_text("interface", out[0].ifname, "lo");
	tcpx_host_addr_format(&out[0].addr, text, sizeof(text));
	check_text("address", text, "127.0.3.9/8");
	assert_int_equal(out[0].addr_count, 1);
	assert_true(out[0].loopback);
}

TEST(nothing_found_tells_what_there_is)
{
	capture_start();
	choose("nothing", 4);
	assert_int_equal(captured_count("\"nothing\""), 2); /* no match; none left */
	assert_int_equal(captured_count("eth0 10.0.0.1/24"), 1);
	assert_int_equal(captured_count("eth2 down"), 1);
	assert_int_equal(captured_count("eth3 no address"), 1);
}

TEST(a_named_nic_that_does_not_fit_is_warned_of)
{
	capture_start();
	choose("=eth2,eth3,eth0,eth9,10.9.9.9", 4);
	assert_int_equal(out[1].addr.family, 4); /* as eth0's: it waits for one of that family */
	assert_true(tcpx_addr_is_wild(&out[1].addr));
	assert_int_equal(captured_count("eth2 is down; it joins when its link comes"), 1);
	assert_int_equal(captured_count("eth3 has no address of IPv4; it joins when it has one"), 1);
	assert_int_equal(captured_count("no interface matches \"eth9\""), 1);
	assert_int_equal(captured_count("10.9.9.9"), 1);
	choose("eth0,zlocal", 4); /* a link-local address is none */
	assert_true(out[1].addr.family == 4 && tcpx_addr_is_wild(&out[1].addr));
	capture_start();
	choose("", 4);
	check_text("the default warns of nothing", captured, "");
}

TEST(every_nic_says_why)
{
	choose("", 4);
	check_text("default", out[0].why, "up, has an address");
	choose("^eth0", 4);
	check_text("exclude", out[0].why, "up, has an address, is not excluded");
	choose("^eth,six", 4);
	check_text("loopback", out[0].why, "only the loopback is left");
	choose("eth1", 4);
	check_text("prefix", out[0].why, "begins with \"eth1\"");
	choose("=eth1", 4);
	check_text("exact", out[0].why, "is named");
	choose("127.0.0.1", 4);
	check_text("address", out[0].why, "its address is named");
}

/* "control: data", or the code. @setting begins with NCCL_: it need not be right. */
static const char *
split(const char *setting, const char *name, const char *selection)
{
	struct tcpx_host_control want = tcpx_host_control_of(name, setting);
	static char text[1024];
	struct tcpx_host_nic control = { .name = "none" };
	unsigned count = 0;
	size_t len;
	int rc;

	assert_int_equal(tcpx_host_nics_select(all, ARRAY_LEN(all), selection, out,
					       TCPX_HOST_NICS, &count), 0);
	rc = tcpx_host_nics_control(all, ARRAY_LEN(all), &want, selection, out, &count, &control);
	if (rc < 0)
		return rc == TCPX_ECONFIG ? "refused" : "?";
	assert_int_equal(rc, strcmp(control.name, "none") != 0);
	len = (size_t)snprintf(text, sizeof(text), "%s:", control.name);
	for (unsigned i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, " %s", out[i].name);
	return text;
}

TEST(the_control_nic_carries_no_data)
{
	static const struct {
		const char *setting, *name, *selection, *nics, *said;
	} rows[] = {
		{ "TCPX_CTRL", "", "", "none: eth0 eth1 eth10 six", NULL },
		{ "TCPX_CTRL", "eth0", "=eth1,eth10", "eth0: eth1 eth10", NULL },
		{ "TCPX_CTRL", "eth0", "", "eth0: eth1 eth10 six", NULL },
		{ "TCPX_CTRL", "eth1", "eth", "eth1: eth0 eth10", NULL },
		{ "TCPX_CTRL", "10.0.0.1", "eth0,eth10", "10.0.0.1: eth10", NULL },
		{ "TCPX_CTRL", "lo", "eth10", "lo: eth10", NULL },
		{ "TCPX_CTRL", "enp6s0", "eth", "eth1: eth0 eth10", NULL },
		{ "TCPX_CTRL", "127.0.0.9", "127.0.0.1,127.0.0.2", "127.0.0.9: 127.0.0.1 127.0.0.2",
		  NULL },
		{ "TCPX_CTRL", "127.0.0.1", "127.0.0.1,127.0.0.2", "127.0.0.1: 127.0.0.2",
		  "127.0.0.1 is the control NIC (TCPX_CTRL): no data goes over it" },
		{ "TCPX_CTRL", "eth0", "=eth0,eth1", "eth0: eth1",
		  "eth0 is the control NIC (TCPX_CTRL): no data goes over it" },
		{ "TCPX_CTRL", "eth0", "=eth0", "refused",
		  "TCPX_CTRL \"eth0\": a control NIC carries no data, and there is no other NIC" },
		{ "TCPX_CTRL", "eth", "eth0", "refused", "TCPX_CTRL \"eth\": no interface" },
		{ "TCPX_CTRL", "10.9.9.9", "eth0", "refused", "TCPX_CTRL \"10.9.9.9\": no interface" },
		{ "TCPX_CTRL", "eth2", "eth0", "refused", "cannot be used: down" },
		{ "TCPX_CTRL", "eth3", "eth0", "refused", "cannot be used: no address" },
		{ "NCCL_CTRL", "eth0", "=eth1", "eth0: eth1", NULL },
		{ "NCCL_CTRL", "eth0", "=eth1,eth0", "eth0: eth1", "no data goes over it" },
		{ "NCCL_CTRL", "eth0", "=eth0", "none: eth0", NULL },
		{ "NCCL_CTRL", "eth9", "=eth0", "none: eth0", "NCCL_CTRL \"eth9\" is not used: no" },
		{ "NCCL_CTRL", "eth2", "=eth0", "none: eth0", "cannot be used: down" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char name[80];

		snprintf(name, sizeof(name), "%s=%s of \"%s\"", rows[i].setting, rows[i].name,
			 rows[i].selection);
		capture_start();
		check_text(name, split(rows[i].setting, rows[i].name, rows[i].selection),
			   rows[i].nics);
		check(name, "lines", captured_count(rows[i].setting), rows[i].said ? 1 : 0);
		if (rows[i].said)
			check(name, rows[i].said, captured_count(rows[i].said), 1);
	}
}

TEST(a_control_nic_has_all_addresses_that_reach_beyond_the_link)
{
	struct tcpx_host_nic two[2] = { all[1], all[2] }, data[1] = { all[2] }, control;
	struct tcpx_host_control want = tcpx_host_control_of("eth0", "environment");
	unsigned count = 1;

	two[0].addrs[1] = all[7].addr;
	two[0].addrs[2] = all[10].addr;
	two[0].addr_count = 3;
	assert_int_equal(tcpx_host_nics_control(two, 2, &want, "", data, &count, &control), 1);
	assert_int_equal(control.addr_count, 2);
	assert_true(tcpx_host_addr_equal(&control.addrs[1], &all[7].addr));
}

TEST(more_than_the_room_is_left_out_with_a_warning)
{
	static struct tcpx_host_nic many[33];
	unsigned count = 0;

	for (unsigned i = 0; i < ARRAY_LEN(many); i++) {
		many[i] = all[1];
		snprintf(many[i].ifname, sizeof(many[i].ifname), "eth%u", i);
		strcpy(many[i].name, many[i].ifname);
	}
	capture_start();
	assert_int_equal(tcpx_host_nics_select(many, 33, "", out, 99, &count), 0);
	assert_int_equal(count, TCPX_HOST_NICS);
	assert_int_equal(captured_count("using 32 NICs, the most that is allowed; 1 more"), 1);
	check_text("room for one", choose("eth", 1), "eth0");
}

/* A list that was meant for NCCL stops nothing; the user's own is taken at its word. */
TEST(a_list_of_nccl_that_leaves_none_costs_a_warning)
{
	static const struct {
		const char *source, *list, *names, *said;
	} rows[] = {
		{ "NCCL_SOCKET_IFNAME", "==eth0", "eth0 eth1 eth10 six",
		  "NCCL_SOCKET_IFNAME \"==eth0\" leaves no NIC, and is not used; there is: docker0 172" },
		{ "NCCL_SOCKET_IFNAME (/etc/nccl.conf line 3)", "ens", "eth0 eth1 eth10 six",
		  "NCCL_SOCKET_IFNAME (/etc/nccl.conf line 3) \"ens\" leaves no NIC" },
		{ "NCCL_SOCKET_IFNAME", "eth1", "eth1 eth10", NULL },
		{ "environment", "ens", NULL, NULL },
		{ "", "ens", NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *list = rows[i].list;
		char names[256] = "";
		unsigned count = 0;
		int rc;

		capture_start();
		rc = tcpx_host_nics_by(all, ARRAY_LEN(all), &list, rows[i].source, out, TCPX_HOST_NICS,
				       &count);
		check(rows[i].list, "rc", rc, rows[i].names ? 0 : -ENODEV);
		for (unsigned k = 0; k < count; k++)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", k ? " " : "",
				 out[k].name);
		check_text(rows[i].list, names, rows[i].names ? rows[i].names : "");
		check_text("list", list, rows[i].said ? "" : rows[i].list);
		check(rows[i].list, "said", captured_count("is not used"), rows[i].said != NULL);
		if (rows[i].said)
			check_has(captured, rows[i].said);
	}
}

TEST(every_reason_to_leave_out_has_a_text)
{
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const char *name = all[i].name;
		bool by_default = strstr(" eth0 eth1 eth10 six ", name) != NULL;

		check(name, "chosen by default", all[i].left_out == NULL,
		      by_default);
	}
	check_text("eth2", tcpx_host_nic_unfit(&all[3]), "down");
	check_text("tap", all[8].left_out, "port of a bridge");
	check_text("zlocal", all[10].left_out,
		   "only a link-local address; TCPX_NICS that names such alone takes it");
}

int
main(void)
{
	return run_cases(make_all, NULL);
}
