/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL_SOCKET_IFNAME chooses the NICs that it chooses for NCCL, whose rules stand here as
 * src/misc/utils.cc and src/os/linux.cc have them in 2.30.7. */
#include "../unit/fixture.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/hints.h"
#include "host/host.h"
#include "nccl/hub.h"
#include "nccl/say.h"

enum { USER_IFS = 16 };

static const char *const names[] = { "docker0", "eth0", "eth1", "eth10", "eth1.5", "ib0", "lo", "wlan0" };
static struct tcpx_host_nic all[ARRAY_LEN(names)];

static int
make_all(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		char addr[32];

		strcpy(all[i].name, names[i]);
		strcpy(all[i].ifname, names[i]);
		snprintf(addr, sizeof(addr), "10.0.%u.1/24", i);
		assert_int_equal(tcpx_host_addr_parse(addr, &all[i].addr), 0);
		all[i].addrs[0] = all[i].addr;
		all[i].addr_count = 1;
		all[i].up = true;
		all[i].loopback = !strcmp(names[i], "lo");
	}
	tcpx_host_nics_judge(all, ARRAY_LEN(all));
	return 0;
}

/* Whether NCCL takes a NIC for this list. */
static bool
nccl_takes(const char *list, const char *nic)
{
	char copy[256], *save = NULL;
	bool without = *list == '^', exact, found = false;
	int count = 0;

	list += without;
	exact = *list == '=';
	list += exact;
	snprintf(copy, sizeof(copy), "%s", list);
	for (char *e = strtok_r(copy, ",", &save); e && count < USER_IFS; e = strtok_r(NULL, ",", &save)) {
		e[strcspn(e, ":")] = '\0';
		if (!*e)
			continue;
		count++;
		found |= strncmp(nic, e, exact ? strlen(nic) + 1 : strlen(e)) == 0;
	}
	return (found || count == 0) != without;
}

static bool
we_take(const char *list, const char *nic)
{
	struct tcpx_host_nic out[TCPX_HOST_NICS];
	char nics[4096];
	unsigned count = 0;
	bool found = false;

	tcpx_hint_nics(list, nics, sizeof(nics));
	if (tcpx_host_nics_select(all, ARRAY_LEN(all), nics, out, TCPX_HOST_NICS, &count))
		return false; /* none is left, which is NCCL's error, too */
	for (unsigned i = 0; i < count; i++)
		found |= !strcmp(out[i].ifname, nic);
	return found;
}

static const char *const lists[] = {
	"eth0", "eth", "eth1", "=eth1", "=eth1,eth10", "eth1,ib", "eth10,eth1", "=eth", "nothing", "=nothing,eth0",
	"^eth", "^eth1", "^=eth1", "^=eth1,eth0", "^docker,lo", "^docker,lo,ib", "=^eth0", "^^eth0", "==eth0",
	"eth0,", ",eth0", "eth0,,ib0", "=,eth0", "^,eth0", "^=,,eth0,,", "eth0:1", "=eth1:0:1:2,ib0:", "^eth0:1,ib", ",^eth0", ",=eth0", "^,=eth0", ",^eth0,eth1",
	":1,eth0", "eth0 ", "eth0, ib0", "lo", "=docker0,wlan0", "ETH0",
	"a,b,c,d,e1,f,g,h,i1,j,k,l1,m,n,o,eth0,ib0", "=a,b,c,d,e1,f,g,h,i1,j,k,l1,m,n,o,p,eth0",
};

/* Where "^" takes what is left, the loopback and container networks are not in it. */
TEST(the_nics_are_those_of_nccl)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		for (size_t k = 0; k < ARRAY_LEN(names); k++) {
			bool aside = *lists[i] == '^' && (!strcmp(names[k], "lo") || !strcmp(names[k], "docker0"));

			if (we_take(lists[i], names[k]) != (nccl_takes(lists[i], names[k]) && !aside))
				fail_msg("\"%s\" and %s: NCCL %d, here %d", lists[i], names[k],
					 nccl_takes(lists[i], names[k]), we_take(lists[i], names[k]));
		}
}

/* NCCL looks for NICs of its own where the list is one byte long. Where it has no name NCCL takes all, or none. */
TEST(a_list_without_a_name_is_the_default)
{
	static const char *const none[] = { "e", "=", "^", ",", ",,", "=,", "^=,", ":1", "^:1,:" };
	char nics[64];

	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		assert_string_equal(tcpx_hint_nics(none[i], nics, sizeof(nics)), "");
}

TEST(a_list_that_is_too_long_is_cut)
{
	char list[8192], nics[4096];

	memset(list, 'x', sizeof(list));
	memcpy(list, "^=eth0,", 7);
	list[sizeof(list) - 1] = '\0';
	assert_string_equal(tcpx_hint_nics(list, nics, sizeof(nics)), "^=eth0");
}

static bool
loopback_has_ipv6(void)
{
	struct tcpx_host_nic *nics = NULL;
	unsigned count = 0;
	bool has = false;

	assert_int_equal(tcpx_host_nics_read("/", &nics, &count), 0);
	for (unsigned i = 0; i < count; i++)
		has |= nics[i].loopback && nics[i].addr_count > 1;
	free(nics);
	return has;
}

/* Of the loopback. */
static void
family_is(const char *nccl, const char *ours, const char *addr)
{
	struct tcpx_nic_info nic[4];
	size_t count = ARRAY_LEN(nic);

	setenv("NCCL_SOCKET_FAMILY", nccl, 1);
	setenv("TCPX_FAMILY", ours, 1);
	assert_int_equal(tcpx_nccl_hub_nics(nic, &count), 0);
	assert_int_equal(count, 1);
	assert_string_equal(nic[0].addr, addr);
}

TEST(the_family_is_that_of_nccl)
{
	if (!loopback_has_ipv6()) {
		print_message("# skipped: the loopback has no IPv6\n");
		skip();
	}
	setenv("NCCL_SOCKET_IFNAME", "=lo", 1);
	family_is("", "", "127.0.0.1");
	family_is("AF_INET", "", "127.0.0.1");
	family_is("AF_INET6", "", "::1");
	family_is("ipv6", "", "127.0.0.1");
	family_is("AF_INET6", "ipv4", "127.0.0.1");
	unsetenv("NCCL_SOCKET_FAMILY");
	unsetenv("TCPX_FAMILY");
	unsetenv("NCCL_SOCKET_IFNAME");
}

static char last[600]; /* line of the log */

static void
keep_last(enum nccl_log_level level, unsigned long subsys, const char *file, int line, const char *fmt, ...)
{
	va_list args;

	(void)level, (void)subsys, (void)file, (void)line;
	va_start(args, fmt);
	vsnprintf(last, sizeof(last), fmt, args);
	va_end(args);
}

/* It may be why no NIC is left. */
TEST(a_family_is_named_where_no_nic_is_left)
{
	struct tcpx_nic_info nic[4];
	size_t count = ARRAY_LEN(nic);

	tcpx_nccl_say_to(keep_last);
	setenv("NCCL_SOCKET_IFNAME", "=nosuch", 1);
	assert_int_equal(tcpx_nccl_hub_nics(nic, &count), -ENODEV);
	assert_non_null(strstr(last, "; set by NCCL_SOCKET_IFNAME \"=nosuch\""));
	assert_null(strstr(last, "NCCL_SOCKET_FAMILY"));
	setenv("NCCL_SOCKET_FAMILY", "AF_INET6", 1);
	assert_int_equal(tcpx_nccl_hub_nics(nic, &count), -ENODEV);
	assert_non_null(strstr(last, "; set by NCCL_SOCKET_IFNAME \"=nosuch\"; only addresses of NCCL_SOCKET_FAMILY count"));
	unsetenv("NCCL_SOCKET_FAMILY");
	unsetenv("NCCL_SOCKET_IFNAME");
	tcpx_nccl_say_to(NULL);
}

/* The library outside of NCCL has the variable as a hint alone. */
TEST(an_engine_opens_where_the_variable_names_no_nic)
{
	static const char *const bad[] = { "==lo", "nosuch", ",", "lo,", "lo:0" };
	static const char *const provider[] = { "TCPX_PROVIDER=sock", "TCPX_CUDA_LIBRARY=none", NULL };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;

	opts.settings = provider;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		tcpx_engine *engine = NULL;

		setenv("NCCL_SOCKET_IFNAME", bad[i], 1);
		if (tcpx_open(&opts, &engine))
			fail_msg("\"%s\" stops an engine", bad[i]);
		tcpx_close(engine);
	}
	unsetenv("NCCL_SOCKET_IFNAME");
}

/* A peer's name in it comes from a handle, and may be anything. */
TEST(a_line_holds_nothing_that_commands_a_terminal)
{
	tcpx_nccl_say_to(keep_last);
	tcpx_nccl_warn("send to %s failed", "h\033[31m\a\u202eost\xff");
	assert_string_equal(last, "NET/tcpx-p2p : send to h?[31m??ost? failed");
	tcpx_nccl_sink(NULL, 2, "a line\nand another");
	assert_string_equal(last, "NET/tcpx-p2p : a line?and another");
	tcpx_nccl_say_to(NULL);
}

int
main(void)
{
	return run_cases(make_all, NULL);
}
