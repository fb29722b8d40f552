/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: the published ones of known machines, byte for byte, and a table of others. */
#include "../base/base_test.h"

#include <errno.h>

#include "tune/irq/assign.h"
#include "tune/texts/forms.h"
#include "machine/spec.h"

static struct tcpx_plan
plan_of(const char *spec, const struct tcpx_plan_options *o)
{
	struct tcpx_machine m;
	struct tcpx_plan p;

	assert_int_equal(tcpx_spec_parse(spec, "spec", &m), 0);
	assert_int_equal(tcpx_plan_make(&m, o, &p), 0);
	tcpx_machine_fini(&m);
	return p;
}

static struct tcpx_plan
a3_high(const struct tcpx_plan_options *o)
{
	struct tcpx_machine m;
	struct tcpx_plan p;

	assert_int_equal(tcpx_spec_load(TCPX_FIXTURES "/a3-high.spec", &m), 0);
	assert_int_equal(tcpx_plan_make(&m, o, &p), 0);
	tcpx_machine_fini(&m);
	return p;
}

static void
check_list(const char *name, const struct tcpx_cpuset *set, const char *want)
{
	char list[512];

	tcpx_cpuset_format(set, list, sizeof(list));
	check_text(name, list, want);
}

/* CPUs of a NIC's interrupts, as a list. */
static void
check_irqs(const char *what, const struct tcpx_plan *p, const char *nic, const char *want)
{
	struct tcpx_cpuset set;
	char name[128];

	tcpx_cpuset_init(&set);
	for (unsigned i = 0; i < p->irq_count; i++)
		if (!strcmp(p->nics[p->irqs[i].nic].name, nic))
			tcpx_cpuset_add(&set, p->irqs[i].cpu);
	snprintf(name, sizeof(name), "%s: interrupts of %s", what, nic);
	check_list(name, &set, want);
}

TEST(a3_high_is_as_published)
{
	struct tcpx_plan p = a3_high(&TCPX_PLAN_DEFAULTS);
	char *text;

	assert_int_equal(tcpx_plan_emit(&p, TCPX_PLAN_NCCL, &text), 0);
	assert_string_equal(text,
		"NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:8-21,112-125;eth2:8-21,112-125;"
		"eth3:60-73,164-177;eth4:60-73,164-177\n"
		"NCCL_GPUDIRECTTCPX_RX_BINDINGS=eth1:22-35,126-139;eth2:22-35,126-139;"
		"eth3:74-87,178-191;eth4:74-87,178-191\n");
	free(text);
	assert_int_equal(tcpx_plan_application(&p, &text), 0);
	assert_string_equal(text, "0-7,104-111,52-59,156-163");
	free(text);
	check_irqs("tail", &p, "eth1", "36-51");
	check_irqs("tail", &p, "eth2", "140-155");
	check_irqs("tail", &p, "eth3", "88-103");
	check_irqs("tail", &p, "eth4", "192-207");
	assert_int_equal(p.irq_count, 4 * 32);
	assert_int_equal(p.irqs[0].irq, 67);
	assert_int_equal(p.irqs[0].cpu, 36);
	assert_int_equal(p.irqs[16].kind, TCPX_VECTOR_RX);
	assert_int_equal(p.irqs[16].cpu, 36);
	tcpx_plan_fini(&p);
}

TEST(policies_on_a3_high)
{
	static const struct {
		enum tcpx_irq_policy policy;
		const char *irqs[4];
	} rows[] = {
		{ TCPX_IRQ_KEEP, { "", "", "", "" } },
		{ TCPX_IRQ_COLOCATE, { "8-35,112-113,126-127", "8-11,22-25,114-125,128-139",
				       "60-87,164-165,178-179", "60-63,74-77,166-177,180-191" } },
		{ TCPX_IRQ_SPREAD, { "0-15", "16-31", "52-67", "68-83" } },
		{ TCPX_IRQ_REMOTE, { "88-103", "192-207", "36-51", "140-155" } },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
		struct tcpx_plan p;
		char nic[8];

		o.policy = rows[i].policy;
		p = a3_high(&o);
		for (unsigned n = 0; n < 4; n++) {
			snprintf(nic, sizeof(nic), "eth%u", n + 1);
			check_irqs(tcpx_irq_policy_name(rows[i].policy), &p, nic, rows[i].irqs[n]);
		}
		tcpx_plan_fini(&p);
	}
}

TEST(slurm_without_smt_is_as_published)
{
	static const char spec[] =
		"cores 0 0-51\ncores 1 52-103\n"
		"nic eth1 node 0 rx 16 tx 16\nnic eth2 node 0 rx 16 tx 16\n"
		"nic eth3 node 1 rx 16 tx 16\nnic eth4 node 1 rx 16 tx 16\n"
		"gpu 0 node 0\ngpu 1 node 0\ngpu 2 node 0\ngpu 3 node 0\n"
		"gpu 4 node 1\ngpu 5 node 1\ngpu 6 node 1\ngpu 7 node 1\n";
	struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
	struct tcpx_plan p;
	char *text;

	o.share_nic = true;
	o.head = 6;
	p = plan_of(spec, &o);
	assert_int_equal(tcpx_plan_bindings(&p, false, &text), 0);
	assert_string_equal(text, "eth1:6-11;eth2:32-37;eth3:58-63;eth4:84-89");
	free(text);
	assert_int_equal(tcpx_plan_bindings(&p, true, &text), 0);
	assert_string_equal(text, "eth1:12-17;eth2:38-43;eth3:64-69;eth4:90-95");
	free(text);
	assert_int_equal(tcpx_plan_application(&p, &text), 0);
	assert_string_equal(text, "0-5,26-31,52-57,78-83");
	free(text);
	check_irqs("slurm", &p, "eth1", "18-25");
	check_irqs("slurm", &p, "eth4", "96-103");
	tcpx_plan_fini(&p);
	o.head = -1;
	p = plan_of(spec, &o);
	check_list("automatic head", &p.groups[0].head, "0-3");
	check_list("automatic TX", &p.groups[0].tx, "4-10");
	check_list("automatic RX", &p.groups[0].rx, "11-17");
	check_list("automatic tail", &p.groups[0].tail, "18-25");
	tcpx_plan_fini(&p);
}

#define A3_MEGA "cores 0 0-51/104-155\ncores 1 52-103/156-207\n"                             \
	"nic e0 node 0 rx 16\nnic e1 node 0 rx 16\nnic e2 node 0 rx 16\nnic e3 node 0 rx 16\n"  \
	"nic e4 node 1 rx 16\nnic e5 node 1 rx 16\nnic e6 node 1 rx 16\nnic e7 node 1 rx 16\n"  \
	"gpu 0 node 0\ngpu 1 node 0\ngpu 2 node 0\ngpu 3 node 0\n"                               \
	"gpu 4 node 1\ngpu 5 node 1\ngpu 6 node 1\ngpu 7 node 1\n"
#define EPYC "cores 0 0-15/128-143 l3 0/8\ncores 1 16-31/144-159 l3 2/8\n"                    \
	"nic e0 node 1 rx 63\nnic e1 node 1 rx 63\ngpu 0 node 1\ngpu 1 node 1\n"

TEST(other_machines_are_as_in_the_table)
{
	static const struct {
		const char *name, *spec;
		bool share_nic;
		const char *nic, *head, *tx, *rx, *tail, *irqs;
		unsigned flags;
	} rows[] = {
		{ "A3-mega", A3_MEGA, false, "e3", "0-7,104-111", "8-21,112-125",
		  "22-35,126-139", "36-51,140-155", "140-155", 0 },
		{ "A3-mega, a slice a NIC", A3_MEGA, true, "e0", "0-1,104-105",
		  "2-4,106-108", "5-8,109-112", "9-12,113-116", "9-12,113-116", 0 },
		{ "EPYC", EPYC, false, "e1", "16-19,144-147", "20-22,148-150",
		  "23-26,151-154", "27-31,155-159", "27-31,155-159", 0 },
		{ "EPYC, a slice a NIC", EPYC, true, "e0", "16-17,144-145",
		  "18-19,146-147", "20-21,148-149", "22-23,150-151", "22-23,150-151", 0 },
		{ "16 vCPU", "cores 0 0-15\nnic e node 0 rx 16\n", false, "e", "0", "1-5",
		  "6-10", "11-15", "11-15", 0 },
		{ "8 vCPU", "cores 0 0-7\nnic e node 0 rx 8\n", false, "e", "0", "1-2",
		  "3-5", "6-7", "6-7", 0 },
		{ "4 vCPU", "cores 0 0-3\nnic e node 0 rx 4\n", false, "e", "", "0", "1-2",
		  "3", "3", 0 },
		{ "2 vCPU", "cores 0 0-1\nnic e rx 2\n", false, "e", "", "0", "1", "", "1",
		  0 },
		{ "1 vCPU", "cores 0 0\nnic e rx 1\n", false, "e", "", "0", "0", "", "0",
		  TCPX_PLAN_SHARED },
		{ "no NUMA", "cores - 0-3\nnic e rx 4\n", false, "e", "", "0", "1-2", "3",
		  "3", 0 },
		{ "unknown node", "cores 0 0-3\ncores 1 4-7\nnic e rx 1\n", false, "e", "0",
		  "1-3", "4-6", "7", "7", TCPX_PLAN_NO_NODE },
		{ "node without CPUs", "node 1\ncores 0 0-3\nnic e node 1 rx 1\n", false,
		  "e", "", "0", "1-2", "3", "3", TCPX_PLAN_OFF_NODE },
		{ "unknown beside known", "cores 0 0-7\ncores 1 8-15\nnic a node 1 rx 1\nnic e rx 1\n", false,
		  "e", "8", "9-11", "12-14", "15", "15", TCPX_PLAN_NO_NODE },
		{ "next to it on PCI", "cores 0 0-3\ncores 1 4-7\n"
		  "nic a node 0 rx 1 path pci0000:00/0000:00:01.0/0000:01:00.0\n"
		  "nic b node 1 rx 1 path pci0000:80/0000:80:01.0/0000:81:00.0\n"
		  "nic e rx 1 path pci0000:80/0000:80:01.0/0000:82:00.0\n", false,
		  "e", "", "4", "5-6", "7", "7", TCPX_PLAN_NO_NODE },
		{ "outside of the cpuset", "cores 0 0-7\ncores 1 8-15\nallowed 8-15\nnic a node 1 rx 1\nnic e node 0 rx 1\n",
		  false, "e", "8", "9-11", "12-14", "15", "15", TCPX_PLAN_OFF_NODE },
		{ "the nearest node", "node 0 distance 10,40,20\nnode 1 distance 40,10,30\nnode 2 distance 20,30,10\n"
		  "cores 0 0-3\ncores 2 4-7\nnic e node 1 rx 1\ngpu 0 node 1\n", false,
		  "e", "4", "5", "6", "7", "7", TCPX_PLAN_OFF_NODE },
		{ "one core of the node", "cores 0 0-3\ncores 1 4\nnic a node 0 rx 1\nnic e node 1 rx 1\n", false,
		  "e", "", "0", "1-2", "3", "3", TCPX_PLAN_OFF_NODE },
		{ "one core of each node", "cores 0 0\ncores 1 1\nnic a node 0 rx 1\nnic e node 1 rx 1\n", false,
		  "e", "", "0", "1", "", "1", TCPX_PLAN_OFF_NODE },
		{ "small cores", "cores 0 0-7/8-15\ncores 0 16-23\nsmall 16-23\nnic e node 0 rx 2\n", false,
		  "e", "0,8,16-23", "1-2,9-10", "3-5,11-13", "6-7,14-15", "6-7", TCPX_PLAN_SMALL },
		{ "small cores first", "cores 0 0-7\nsmall 0-3\nnic e node 0 rx 1\nnic f node 0 rx 1\n", true,
		  "f", "2-3", "6", "7", "", "7", TCPX_PLAN_SMALL },
		{ "one large core", "cores 0 0-3\nsmall 1-3\nnic e node 0 rx 1\n", false,
		  "e", "", "0", "1-2", "3", "3", TCPX_PLAN_ON_SMALL },
		{ "isolated", "cores 0 0-7\nnic e node 0 rx 1\nisolated 4-7\n", false, "e",
		  "", "0", "1-2", "3", "3", TCPX_PLAN_ISOLATED },
		{ "half of a core", "cores 0 0-3/4-7\nallowed 0-3,5-7\nnic e node 0 rx 1\n", false, "e", "", "0", "1-2,5-6", "3,7", "3", TCPX_PLAN_PARTIAL },
		{ "too few to slice", "cores 0 0-2\nnic e node 0 rx 1\nnic f node 0 rx 1\n", true, "f", "", "0", "1", "2", "2", TCPX_PLAN_NOT_SLICED },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
		const struct tcpx_plan_group *g;
		struct tcpx_plan p;

		o.share_nic = rows[i].share_nic;
		p = plan_of(rows[i].spec, &o);
		g = tcpx_plan_of_nic(&p, rows[i].nic);
		assert_non_null(g);
		check_list(rows[i].name, &g->head, rows[i].head);
		check_list(rows[i].name, &g->tx, rows[i].tx);
		check_list(rows[i].name, &g->rx, rows[i].rx);
		check_list(rows[i].name, &g->tail, rows[i].tail);
		check_irqs(rows[i].name, &p, rows[i].nic, rows[i].irqs);
		check(rows[i].name, "flags", g->flags, rows[i].flags);
		tcpx_plan_fini(&p);
	}
}

TEST(options_do_what_they_say)
{
	static const struct { int head, tail; const char *heads, *tails; } shrunk[] = {
		{ 2, 2, "0-1", "4" }, { 3, 1, "0-1", "4" }, { 1, 3, "0", "3-4" },
		{ 5, 5, "0-1", "4" }, { 5, 0, "0-2", "" },  { 0, 5, "", "2-4" },
	};
	struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
	struct tcpx_cpuset allow;
	struct tcpx_plan p;
	char *text;

	o.first_threads = true;
	p = a3_high(&o);
	check_list("first threads", &p.groups[0].tx, "8-21");
	check_irqs("first threads", &p, "eth2", "36-51");
	tcpx_plan_fini(&p);

	o = TCPX_PLAN_DEFAULTS;
	o.nics = "eth4,eth1";
	o.head = 0;
	o.tail = 0;
	p = a3_high(&o);
	assert_int_equal(tcpx_plan_bindings(&p, true, &text), 0);
	assert_string_equal(text, "eth1:26-51,130-155;eth4:78-103,182-207");
	free(text);
	tcpx_plan_fini(&p);

	o.head = 60;
	o.tail = 50;
	p = a3_high(&o);
	assert_int_equal(p.groups[0].flags, TCPX_PLAN_SHRUNK);
	assert_int_equal(p.groups[0].tx_cores, 1);
	assert_int_equal(p.groups[0].rx_cores, 1);
	tcpx_plan_fini(&p);

	/* the larger of both gives way, of two alike the tail */
	o.nics = NULL;
	for (size_t i = 0; i < sizeof(shrunk) / sizeof(shrunk[0]); i++) {
		o.head = shrunk[i].head;
		o.tail = shrunk[i].tail;
		p = plan_of("cores 0 0-4\nnic e node 0 rx 4\n", &o);
		check_list("shrunk head", &p.groups[0].head, shrunk[i].heads);
		check_list("shrunk tail", &p.groups[0].tail, shrunk[i].tails);
		check("workers", "TX", p.groups[0].tx_cores, 1);
		check("workers", "RX", p.groups[0].rx_cores, 1);
		tcpx_plan_fini(&p);
	}

	o = TCPX_PLAN_DEFAULTS;
	assert_int_equal(tcpx_cpuset_parse("0-3,52,300", &allow), 0);
	o.allow = &allow;
	p = a3_high(&o);
	assert_int_equal(p.group_count, 1); /* node 1 has one core, which cannot send and receive */
	check_list("allow", &p.groups[0].pool, "0-3");
	assert_int_equal(p.groups[0].flags, TCPX_PLAN_OFF_NODE | TCPX_PLAN_PARTIAL);
	tcpx_plan_fini(&p);
}

/* A NIC's queues follow those of the NICs before it, each kind behind its own. */
TEST(queues_of_either_kind_are_counted_alone)
{
	struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
	struct tcpx_plan p;

	o.policy = TCPX_IRQ_COLOCATE;
	o.head = o.tail = 0;
	o.first_threads = true;
	p = plan_of("cores 0 0-9/10-19\nnic e node 0 rx 1 tx 3\nnic f node 0 rx 2 tx 1\n"
		    "irq e tx 0-2 at 50 hwirq 0 name e{0}\n"
		    "irq e rx 0 at 53 hwirq 3 name e3\n"
		    "irq f tx 0 at 60 hwirq 0 name f0\n"
		    "irq f rx 0-1 at 61 hwirq 1 name f{1}\n", &o);
	check_irqs("unequal", &p, "e", "0-2,5");
	check_irqs("unequal", &p, "f", "3,6-7");
	tcpx_plan_fini(&p);
}

/* As of atlantic; a NIC whose only vector is for its control; one that nothing is known of. */
TEST(vectors_of_unknown_queues_are_spread_or_the_nic_is_left_out_by_name)
{
	static const char spec[] = "cores 0 0-7\nnic a node 0 rx 4 tx 4 driver atlantic\n"
		"irq a unknown at 58 name a-2\nirq a unknown at 56 name a-0\nirq a mgmt at 59 name a-link\n"
		"nic b node 0 rx 1 driver virtio_net\nirq b mgmt at 66 name virtio1-config\n"
		"nic c node 0\nnic d node 0 rx 2\nirq d unknown at 70\n";
	struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
	struct tcpx_plan p;

	p = plan_of(spec, &o);
	assert_int_equal(p.irq_count, 2);
	assert_int_equal(p.irqs[0].irq, 56);
	assert_int_equal(p.irqs[0].cpu, 6);
	assert_int_equal(p.irqs[1].irq, 58);
	assert_int_equal(p.irqs[1].cpu, 7);
	check_has(p.nics[0].irq_note, "spread in order");
	check_has(p.nics[1].irq_note, "left out: no vector of it is known");
	check_has(p.nics[2].irq_note, "left out: neither its vectors nor its queues");
	check_has(p.nics[3].irq_note, "left out: no vector of it is known"); /* it is down: they have no names */
	tcpx_plan_fini(&p);
}

TEST(what_cannot_be_planned_is_said_once)
{
	static const struct {
		const char *spec, *nics, *says;
		enum tcpx_irq_policy policy;
		int head, code;
	} rows[] = {
		{ "cores 0 0-3", NULL, "no NIC", 0, -1, -ENODEV },
		{ "cores 0 0-3\nnic e", "e,f", "no NIC \"f\"", 0, -1, -ENODEV },
		{ "cores 0 0-3\nnic e\nallowed none", NULL, "no CPU", 0, -1, -ENODEV },
		{ "cores 0 0-3\nnic e\nisolated 0-3", NULL, "no CPU", 0, -1, -ENODEV },
		{ "cores 0 0-3\nnic e", NULL, "head -2", 0, -2, -EINVAL },
		{ "cores 0 0-3\nnic e", NULL, "policy remote", TCPX_IRQ_REMOTE, -1, -ENODEV },
		{ "cores 0 0-3\nnic e", NULL, "policy 99", 99, -1, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
		struct tcpx_machine m;
		struct tcpx_plan p;

		assert_int_equal(tcpx_spec_parse(rows[i].spec, "spec", &m), 0);
		o.nics = rows[i].nics;
		o.policy = rows[i].policy;
		o.head = rows[i].head;
		capture_start();
		check(rows[i].says, "code", tcpx_plan_make(&m, &o, &p), rows[i].code);
		check(rows[i].says, "lines", captured_count("\n"), 1);
		check_has(captured, rows[i].says);
		tcpx_machine_fini(&m);
	}
	tcpx_log_sink(NULL, NULL);
}

TEST(texts_have_their_parts)
{
	struct tcpx_plan p = a3_high(&TCPX_PLAN_DEFAULTS);
	struct tcpx_cpuset xps;
	char *text, why[160];

	assert_int_equal(tcpx_plan_emit(&p, TCPX_PLAN_SH, &text), 0);
	check_has(text, "export NCCL_GPUDIRECTTCPX_TX_BINDINGS='eth1:8-21,");
	check_has(text, "echo 36 >/proc/irq/67/smp_affinity_list # eth1 tx 0\n");
	check_has(text, "taskset -c 0-7,104-111,52-59,156-163");
	free(text);
	assert_int_equal(tcpx_plan_emit(&p, TCPX_PLAN_SYSTEMD, &text), 0);
	check_has(text, "Environment=\"NCCL_GPUDIRECTTCPX_RX_BINDINGS=eth1:22-35,126-139;");
	check_has(text, "CPUAffinity=0-51,104-155 52-103,156-207\n");
	free(text);
	assert_int_equal(tcpx_plan_emit(&p, TCPX_PLAN_SLURM, &text), 0);
	check_has(text, "#SBATCH --exclusive\nexport SLURM_CPU_BIND=none\nexport ");
	check_has(text, "srun --cpu-bind=none taskset -c 0-7,104-111,52-59,156-163");
	free(text);
	assert_int_equal(tcpx_plan_explain(&p, 1, &text), 0);
	check_has(text, "pool 52-103,156-207: 52 cores of node 1, for eth3 eth4\n");
	check_has(text, "head 52-59,156-163: 8 cores for the application, 2 for each of 4 GPUs");
	check_has(text, "tail 88-103,192-207: 16 cores for interrupts");
	free(text);
	assert_true(tcpx_plan_explain_irq(&p, &p.irqs[1], why, sizeof(why)) < sizeof(why));
	check_has(why, "queue 1 on core 1 of 16 of the tail");
	/* 28 CPUs for 16 queues: some have two, and each CPU one queue */
	tcpx_plan_xps(&p, &p.nics[0], 0, &xps);
	check_list("XPS of queue 0", &xps, "8,114");
	tcpx_plan_xps(&p, &p.nics[0], 15, &xps);
	check_list("XPS of queue 15", &xps, "113");
	tcpx_plan_fini(&p);
}
