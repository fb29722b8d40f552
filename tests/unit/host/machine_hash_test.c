/* SPDX-License-Identifier: Apache-2.0 */
/* When a machine is still the one of its plan: each fact changes its own part of the hash. */
#include "../tree_rig.h"

#include "host/plan.h"

static const char *const base =
	"machine base\nnode 0 distance 10,20\nnode 1 distance 20,10\n"
	"cores 0 0-3/8-11 l3 0/2\ncores 1 4-7/12-15 l3 2/2\n"
	"nic eth1 node 0 rx 2 tx 2 driver gve pci 0000:06:00.0\n"
	"nic eth2 node 1 rx 2 tx 2 driver gve pci 0000:07:00.0\n"
	"irq eth1 tx 0-1 at 40 hwirq 0 name t{0}\nirq eth1 rx 0-1 at 42 hwirq 2 name r{0}\n"
	"irq eth1 mgmt at 44 hwirq 4 name m\nirq eth2 txrx 0-1 at 50 hwirq 0 name b{0}\n"
	"gpu 0 node 0 pci 0000:04:00.0\n";

enum { CPUS = 1 << TCPX_MACHINE_PART_CPUS, NICS = 1 << TCPX_MACHINE_PART_NICS,
       GPUS = 1 << TCPX_MACHINE_PART_GPUS, QUEUES = 1 << TCPX_MACHINE_PART_QUEUES };

/* @base with @from replaced by @to; NULL: @to is added. */
static struct tcpx_machine
changed(const char *from, const char *to)
{
	const char *at = from ? strstr(base, from) : base + strlen(base);
	struct tcpx_machine m;
	char text[2048];

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - base), base, to,
		 from ? at + strlen(from) : "");
	assert_int_equal(tcpx_spec_parse(text, "changed", &m), 0);
	return m;
}

static unsigned
parts_that_differ(const struct tcpx_machine *a, const struct tcpx_machine *b)
{
	unsigned parts = 0;

	for (int i = 0; i < TCPX_MACHINE_PARTS; i++) {
		enum tcpx_machine_part part = (enum tcpx_machine_part)i;

		if (tcpx_machine_hash_part(a, part) != tcpx_machine_hash_part(b, part))
			parts |= 1u << i;
	}
	assert_int_equal(parts != 0, tcpx_machine_hash(a) != tcpx_machine_hash(b));
	return parts;
}

TEST(each_fact_changes_its_part)
{
	static const struct {
		const char *from, *to;
		unsigned parts;
	} rows[] = {
		{ "0-3/8-11", "0-3", CPUS },                 /* no siblings           */
		{ "cores 0 0-3/8-11", "cores 0 0-2/8-10", CPUS },
		{ "0-3/8-11", "0-1,8-9/2-3,10-11", CPUS },   /* others                */
		{ "cores 1 4-7/12-15", "cores 0 4-7/12-15", CPUS },
		{ "distance 20,10", "distance 40,10", CPUS },
		{ "l3 0/2", "l3 0/4", CPUS },
		{ NULL, "offline 15\n", CPUS },
		{ NULL, "isolated 3\n", CPUS },
		{ "nic eth1 node 0", "nic eth1 node 1", NICS },
		{ "06:00.0", "08:00.0", NICS },
		{ "driver gve", "driver idpf", NICS },
		{ NULL, "nic eth3 driver gve rx 0 tx 0\n", NICS | QUEUES },
		{ "rx 2 tx 2", "rx 1 tx 2", QUEUES },
		{ "rx 2 tx 2", "rx 2 tx 1", QUEUES },
		{ "eth1 tx 0-1 at", "eth1 rx 4-5 at", QUEUES },
		{ "eth1 tx 0-1", "eth1 tx 2-3", QUEUES },
		{ "irq eth2 txrx 0-1 at 50 hwirq 0 name b{0}", "", QUEUES },
		{ "gpu 0 node 0", "gpu 0 node 1", GPUS },
		{ "04:00.0", "05:00.0", GPUS },
		{ "gpu 0 node 0 pci 0000:04:00.0", "", GPUS },
		{ NULL, "gpu 1 node 1 pci 0000:05:00.0\n", GPUS },
		/* what a boot, a rename, or another process may change */
		{ "machine base", "machine other", 0 },
		{ "at 40", "at 70", 0 },                     /* now after the others  */
		{ "hwirq 2 name r{0}", "hwirq 7 name q{3}", 0 },
		{ "irq eth1 mgmt at 44 hwirq 4 name m", "", 0 },
		{ "l3 0/2", "l3 7/2", 0 },
		{ NULL, "allowed 0-1\n", 0 },
		{ NULL, "nic tun0 rx 1 tx 1\n", 0 },
	};
	struct tcpx_machine was = changed(NULL, "");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcpx_machine is = changed(rows[i].from, rows[i].to);

		check(rows[i].to, "parts", parts_that_differ(&was, &is), rows[i].parts);
		tcpx_machine_fini(&is);
	}
	tcpx_machine_fini(&was);
}

TEST(a_plan_names_its_machine)
{
	struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
	struct tcpx_machine m = changed(NULL, "");
	struct tcpx_plan p;

	assert_int_equal(tcpx_plan_cpus(&m, &o, &p), 0);
	assert_true(p.hash == tcpx_machine_hash(&m));
	for (int i = 0; i < TCPX_MACHINE_PARTS; i++)
		assert_true(p.parts[i] == tcpx_machine_hash_part(&m, (enum tcpx_machine_part)i));
	tcpx_plan_fini(&p);
	tcpx_machine_fini(&m);
}
