/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots: taken, written, read back, and read when damaged. */
#include "../tree_rig.h"

#include <errno.h>

#include "tune/record/snapshot.h"

#define HEAD "tcpx-irq-snapshot 1\n"
#define TABLE "table interrupts 26\n CPU0\n 5: 1 chip 1-edge a\n"

TEST(a_snapshot_reads_back_the_same)
{
	static const char *const names[] = { "a3-high", "mlx5", "virtio-2cpu" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct tcpx_snapshot snap, again;
		char *text, *text_again;
		struct rig rig;
		size_t len, len_again;

		rig_load(&rig, names[i]);
		assert_int_equal(tcpx_snapshot_take(rig.tree.root, rig.topo, NULL, &snap), 0);
		check(names[i], "vectors", snap.vector_count, rig.spec.vector_count);
		check(names[i], "nodes", snap.node_count, rig.spec.node_count);
		assert_int_equal(tcpx_snapshot_format(&snap, &text, &len), 0);
		assert_int_equal(tcpx_snapshot_parse(text, len, "text", &again), 0);
		assert_int_equal(tcpx_snapshot_format(&again, &text_again, &len_again), 0);
		check(names[i], "length", len_again, len);
		assert_memory_equal(text, text_again, len);
		check(names[i], "IRQs", again.irqs.row_count, snap.irqs.row_count);
		check(names[i], "softirqs", again.softirqs.row_count, 10);
		check(names[i], "times", again.time_count, snap.time_count);
		free(text);
		free(text_again);
		tcpx_snapshot_fini(&snap);
		tcpx_snapshot_fini(&again);
		rig_free(&rig);
	}
}

TEST(counts_are_those_of_the_tree)
{
	const struct tcpx_snap_vector *v;
	struct tcpx_snapshot snap;
	struct rig rig;

	rig_load(&rig, "a3-high");
	assert_int_equal(tcpx_snapshot_take(rig.tree.root, rig.topo, "eth2", &snap), 0);
	check("eth2", "NICs", snap.nic_count, 1);
	check("eth2", "vectors", snap.vector_count, 33);
	v = tcpx_snapshot_vector(&snap, 116);
	assert_non_null(v);
	check("116", "queue", v->queue, 0);
	check("116", "kind", v->kind, TCPX_VECTOR_RX);
	assert_null(tcpx_snapshot_vector(&snap, 67));
	assert_null(tcpx_snapshot_vector(&snap, -1));
	check("116", "total", tcpx_irq_row_total(tcpx_irqtab_find(&snap.irqs, 116)),
	      tcpx_tree_count(116, 1, 1));
	tcpx_snapshot_fini(&snap);
	capture_start();
	check("eth9", "rc", tcpx_snapshot_take(rig.tree.root, rig.topo, "eth2,eth9", &snap),
	      -ENODEV);
	check("eth9", "named", captured_count("eth9"), 1);
	rig_free(&rig);
}

TEST(a_machine_without_counts_has_no_snapshot)
{
	struct tcpx_snapshot snap;
	struct rig rig;

	rig_load(&rig, "nothing");
	capture_start();
	check("nothing", "rc", tcpx_snapshot_take(rig.tree.root, rig.topo, NULL, &snap), -ENOENT);
	rig_free(&rig);
}

static const struct {
	const char *name, *text, *says;
} bad[] = {
	{ "empty", "", "empty" },
	{ "something else", "hello\n", "not a snapshot" },
	{ "another version", "tcpx-irq-snapshot 2\n", "not a snapshot" },
	{ "no newline", "tcpx-irq-snapshot 1", "cut" },
	{ "no table", HEAD, "no table of interrupts" },
	{ "no header", HEAD "table interrupts 4\nabc\n", "no header" },
	{ "cut table", HEAD "table interrupts 400\n CPU0\n", "line 2" },
	{ "huge table", HEAD "table interrupts 18446744073709551615\n", "cut" },
	{ "table without length", HEAD "table interrupts\n", "bytes" },
	{ "odd table", HEAD "table others 1\nx", "tables are" },
	{ "table twice", HEAD TABLE TABLE, "already" },
	{ "odd fact", HEAD TABLE "hello 1\n", "no such fact" },
	{ "rest", HEAD TABLE "x", "cut" },
	{ "boot of two words", HEAD "boot a b\n", "line 2" },
	{ "long boot", HEAD "boot 0123456789012345678901234567890123456789\n", "line 2" },
	{ "time backwards", HEAD "time 5 4\n", "beginning" },
	{ "one time", HEAD "time 5\n", "beginning" },
	{ "node -1", HEAD "node -1 0-3\n", "node's id" },
	{ "node of bad CPUs", HEAD "node 1 0-\n", "node's id" },
	{ "NIC of three words", HEAD "nic eth1 0\n", "NIC's name" },
	{ "long NIC", HEAD "nic abcdefghijklmnop 0 gve\n", "NIC's name" },
	{ "NIC twice", HEAD "nic e 0 gve\nnic e 0 gve\n", "already" },
	{ "vector of nobody", HEAD "vector 5 eth1 rx 0 name 1 0 0\n", "not named before" },
	{ "short vector", HEAD "nic e 0 gve\nvector 5 e rx 0 name 1 0\n", "eight words" },
	{ "long vector", HEAD "nic e 0 gve\nvector 5 e rx 0 name 1 0 0 0\n", "eight words" },
	{ "kind", HEAD "nic e 0 gve\nvector 5 e up 0 name 1 0 0\n", "a vector is" },
	{ "source", HEAD "nic e 0 gve\nvector 5 e rx 0 hearsay 1 0 0\n", "a vector is" },
	{ "queue", HEAD "nic e 0 gve\nvector 5 e rx -2 name 1 0 0\n", "a vector is" },
	{ "movable", HEAD "nic e 0 gve\nvector 5 e rx 0 name 2 0 0\n", "a vector is" },
	{ "IRQ", HEAD "nic e 0 gve\nvector 5000000000 e rx 0 name 1 0 0\n", "a vector is" },
	{ "affinity", HEAD "nic e 0 gve\nvector 5 e rx 0 name 1 x 0\n", "a vector is" },
};

TEST(spoilt_files_are_refused_with_their_line)
{
	struct tcpx_snapshot snap;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		capture_start();
		check(bad[i].name, "rc", tcpx_snapshot_parse(bad[i].text, strlen(bad[i].text),
							     "FILE", &snap), -EINVAL);
		if (captured_count(bad[i].says) != 1 || captured_count("FILE") != 1)
			fail_msg("%s: \"%s\" does not say \"%s\"", bad[i].name, captured,
				 bad[i].says);
	}
}

TEST(unknown_and_empty_differ)
{
	static const char text[] = HEAD "\nnic e -1 -\nvector 5 e rx 0 name 0 - none\n" TABLE;
	struct tcpx_snapshot snap;

	assert_int_equal(tcpx_snapshot_parse(text, strlen(text), "text", &snap), 0);
	assert_false(snap.vectors[0].requested_known);
	assert_true(snap.vectors[0].effective_known);
	assert_true(tcpx_cpuset_empty(&snap.vectors[0].effective));
	check_text("driver", snap.nics[0].driver, "");
	tcpx_snapshot_fini(&snap);
}

TEST(a_snapshot_cut_anywhere_is_refused)
{
	static const char text[] = HEAD "boot x\nnic e 0 gve\n" TABLE;
	struct tcpx_snapshot snap;

	capture_start();
	for (size_t len = 0; len < strlen(text); len++)
		check("cut", "rc", tcpx_snapshot_parse(text, len, "FILE", &snap), -EINVAL);
	assert_int_equal(tcpx_snapshot_parse(text, strlen(text), "FILE", &snap), 0);
	tcpx_snapshot_fini(&snap);
	check("no file", "rc", tcpx_snapshot_load("/nowhere/at/all", &snap), -ENOENT);
}
