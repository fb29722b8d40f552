/* SPDX-License-Identifier: Apache-2.0 */
/* CPU facts of whole machines, of broken ones and of this one. */
#include "../fixture.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "host/cpu.h"

static struct tcpx_host_cpus cpus;

static int
read_machine(const char *text, bool is_name)
{
	struct fixture f;
	int rc;

	fixture_init(&f);
	if (is_name)
		fixture_add_machine(&f, text);
	else
		fixture_add(&f, text);
	rc = tcpx_host_cpus(f.root, &cpus);
	fixture_fini(&f);
	return rc;
}

TEST(a3_high_has_208_cpus_in_2_nodes)
{
	char list[64];

	assert_int_equal(read_machine("a3-high", true), 0);
	assert_int_equal(cpus.count, 208);
	assert_int_equal(cpus.allowed_count, 208);
	assert_int_equal(cpus.node_count, 2);
	assert_int_equal(cpus.node[1].id, 1);
	tcpx_cpuset_format(&cpus.node[1].cpus, list, sizeof(list));
	check_text("node 1", list, "52-103,156-207");
}

TEST(nodes_may_have_gaps_and_no_cpus)
{
	assert_int_equal(read_machine("weird", true), 0);
	assert_int_equal(cpus.node_count, 3);
	assert_int_equal(cpus.node[1].id, 8);
	assert_int_equal(cpus.node[2].id, 9);
	assert_true(tcpx_cpuset_empty(&cpus.node[2].cpus));
}

TEST(nodes_are_in_order_of_number)
{
	assert_int_equal(read_machine("cpus online=0-3\nnode id=10 cpus=0\nnode id=2 cpus=1-3\n"
				      "node id=2x cpus=0\nnode id=70000 cpus=0", false), 0);
	assert_int_equal(cpus.node_count, 2);
	assert_int_equal(cpus.node[0].id, 2);
	assert_int_equal(cpus.node[1].id, 10);
}

TEST(allowed_cpus_are_online_ones)
{
	static const struct {
		const char *allowed;
		unsigned count;
	} rows[] = {
		{ "2-3,500", 2 }, { "0", 1 }, { "0-7", 4 },
		{ "500", 4 },  { "", 4 },  { "junk", 4 }, /* no sense: as if not narrowed */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[64];

		snprintf(text, sizeof(text), "cpus online=0-3 allowed=%s", rows[i].allowed);
		assert_int_equal(read_machine(text, false), 0);
		check(rows[i].allowed, "allowed", cpus.allowed_count, rows[i].count);
		check(rows[i].allowed, "online", cpus.count, 4);
	}
}

TEST(without_a_list_of_cpus_reading_fails_once)
{
	static const struct {
		const char *text;
		int rc;
	} rows[] = {
		{ "", -ENOENT },
		{ "cpus online=", -EINVAL },
		{ "cpus online=0-", -EINVAL },
		{ "cpus online=0-9999", -ERANGE },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		capture_start();
		check(rows[i].text, "rc", read_machine(rows[i].text, false), rows[i].rc);
		check(rows[i].text, "lines", captured_count("read a list of CPUs"), 1);
	}
}

TEST(this_machine_agrees_with_the_c_library)
{
	cpu_set_t mask;

	assert_int_equal(tcpx_host_cpus(NULL, &cpus), 0);
	assert_int_equal(cpus.count, sysconf(_SC_NPROCESSORS_ONLN));
	if (sched_getaffinity(0, sizeof(mask), &mask) == 0)
		assert_int_equal(cpus.allowed_count, CPU_COUNT(&mask));
}
