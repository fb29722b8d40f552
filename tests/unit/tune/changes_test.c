/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupts between two snapshots: counts that wrap, vectors that come and go. */
#include "../base/base_test.h"

#include <errno.h>

#include "base/text.h"
#include "tune/record/changes.h"

static struct tcpx_snapshot a, b;
static struct tcpx_irqdiff d;

/* A snapshot with these tables; @facts are lines before them. */
static void
make(struct tcpx_snapshot *snap, const char *facts, const char *interrupts, const char *others)
{
	struct tcpx_text text = { .at = NULL };
	char *all;

	tcpx_text_add(&text, "tcpx-irq-snapshot 1\n%stable interrupts %zu\n%s%s", facts,
		      strlen(interrupts), interrupts, others);
	assert_int_equal(tcpx_text_detach(&text, &all), 0);
	assert_int_equal(tcpx_snapshot_parse(all, strlen(all), "made", snap), 0);
	free(all);
}

static int
forget(void **state)
{
	tcpx_irqdiff_fini(&d);
	tcpx_snapshot_fini(&a);
	tcpx_snapshot_fini(&b);
	return 0;
}

TEST(counts_wrap_or_were_reset)
{
	static const struct {
		uint32_t before, after, delta;
		bool whole;
	} rows[] = {
		{ 0, 0, 0, true }, { 5, 9, 4, true }, { 0, UINT32_MAX, UINT32_MAX, true },
		{ UINT32_MAX, 0, 1, true }, { 4294967000u, 704, 1000, true },
		{ 15000, 20, 20, false }, { 1, 0, 0, false },
		{ 2147483649u, 0, 2147483647u, true }, { 2147483648u, 0, 0, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint32_t delta;

		check("rise", "whole", tcpx_irqdiff_rise(rows[i].before, rows[i].after, &delta),
		      rows[i].whole);
		check("rise", "delta", delta, rows[i].delta);
	}
}

static const struct tcpx_irqdiff_row *
row_of(long irq)
{
	for (unsigned i = 0; i < d.irq_rows; i++)
		if (d.row[i].irq == irq)
			return &d.row[i];
	fail_msg("no row of IRQ %ld", irq);
	return NULL;
}

TEST_WITH(rows_are_told_apart, NULL, forget)
{
	static const struct {
		long irq;
		enum tcpx_irqdiff_state state;
		uint64_t total;
	} rows[] = {
		{ 5, TCPX_IRQ_SAME, 3 }, { 6, TCPX_IRQ_ANEW, 9 }, { 7, TCPX_IRQ_GONE, 0 },
		{ 8, TCPX_IRQ_CAME, 11 }, { 9, TCPX_IRQ_SAME, 10 }, { 10, TCPX_IRQ_ANEW, 4 },
		{ 11, TCPX_IRQ_ANEW, 300 }, { 12, TCPX_IRQ_ANEW, 7 },
	};

	make(&a, "mono 0 1000000000\n", " CPU0 CPU1\n 5: 1 1 c 1-edge a\n 6: 100 0 c 1-edge a\n"
	     " 7: 5 5 c 1-edge gone\n 9: 4294967290 0 c 1-edge w\n 10: 500 900 c 1-edge r\n"
	     " 11: 100 100 c 1-edge a\n 12: 1 1 c 2-edge h\nLOC: 7 7 timers\nERR: 3\n", "");
	make(&b, "mono 0 3000000000\n", " CPU0 CPU1\n 5: 2 3 c 1-edge a\n 6: 9 0 c 1-edge b\n"
	     " 8: 5 6 c 1-edge new\n 9: 4 0 c 1-edge w\n 10: 4 0 c 1-edge r\n"
	     " 11: 150 150 c 1-edge b\n 12: 3 4 c 3-edge h\nLOC: 9 10 timers\nERR: 4\n", "");
	assert_int_equal(tcpx_irqdiff_make(&a, &b, &d), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char name[24];

		snprintf(name, sizeof(name), "IRQ %ld", rows[i].irq);
		check(name, "state", row_of(rows[i].irq)->state, rows[i].state);
		check(name, "total", row_of(rows[i].irq)->total, rows[i].total);
	}
	check("all", "rows", d.irq_rows, ARRAY_LEN(rows) + 1);
	check("timers", "total", d.row[d.irq_rows - 1].total, 5);
	assert_true(d.seconds > 1.999 && d.seconds < 2.001);
}

TEST_WITH(a_snapshot_does_not_differ_from_itself, NULL, forget)
{
	make(&a, "nic e 0 gve\nvector 5 e rx 0 name 1 0-1 0\n",
	     " CPU0 CPU1\n 5: 1 1 c 1-edge a\n 6: 2 3 c 2-edge b\n", "");
	make(&b, "nic e 0 gve\nvector 5 e rx 0 name 1 0-1 0\n",
	     " CPU0 CPU1\n 5: 1 1 c 1-edge a\n 6: 2 3 c 2-edge b\n", "");
	assert_int_equal(tcpx_irqdiff_make(&a, &b, &d), 0);
	assert_int_equal(d.row_count, 2);
	for (unsigned i = 0; i < d.row_count; i++) {
		check("row", "state", d.row[i].state, TCPX_IRQ_SAME);
		check("row", "total", d.row[i].total, 0);
		assert_false(d.row[i].moved);
	}
}

TEST_WITH(cpus_that_came_or_went_do_not_count, NULL, forget)
{
	make(&a, "", " CPU0 CPU1 CPU2\n 5: 1 50 100 c 1-edge a\n", "");
	make(&b, "", " CPU0 CPU2 CPU7\n 5: 4 105 900 c 1-edge a\n", "");
	assert_int_equal(tcpx_irqdiff_make(&a, &b, &d), 0);
	check("both", "CPUs", d.cpu_count, 2);
	check("both", "second", d.cpu[1], 2);
	check("one", "CPUs", d.cpus_changed, 2);
	check("5", "total", row_of(5)->total, 8);
}

TEST_WITH(vectors_that_were_sent_elsewhere_are_told, NULL, forget)
{
	make(&a, "nic e 0 gve\nvector 5 e rx 0 name 1 0-1 0\nvector 6 e tx 0 name 1 0 0\n"
	     "vector 7 e tx 1 name 1 - 0\n", " CPU0\n 5: 1 c 1-edge a\n 6: 1 c 2-edge b\n"
	     " 7: 1 c 3-edge c\n 8: 1 c 4-edge d\n", "");
	make(&b, "nic e 0 gve\nvector 5 e rx 0 name 1 1 0\nvector 6 e tx 0 name 1 0 1\n"
	     "vector 7 e tx 1 name 1 1 0\n", " CPU0\n 5: 1 c 1-edge a\n 6: 1 c 2-edge b\n"
	     " 7: 1 c 3-edge c\n 8: 1 c 4-edge d\n", "");
	assert_int_equal(tcpx_irqdiff_make(&a, &b, &d), 0);
	assert_true(row_of(5)->moved);
	assert_false(row_of(6)->moved); /* the kernel chose among those allowed */
	assert_false(row_of(7)->moved); /* not known before */
	assert_null(row_of(8)->vector);
	check("5", "queue", row_of(5)->vector->queue, 0);
}

TEST_WITH(softirqs_and_times_are_compared, NULL, forget)
{
	make(&a, "", " CPU0 CPU1\n 5: 1 1 c 1-edge a\n", "table softirqs 32\n CPU0 CPU1\n"
	     "NET_RX: 1 4294967295\ntable stat 29\ncpu0 1 2 3 100\ncpu1 1 2 3 90\n");
	make(&b, "", " CPU0 CPU1\n 5: 1 1 c 1-edge a\n", "table softirqs 24\n CPU0 CPU1\n"
	     "NET_RX: 11 4\ntable stat 29\ncpu0 5 2 3 090\ncpu2 1 2 3 90\n");
	assert_int_equal(tcpx_irqdiff_make(&a, &b, &d), 0);
	check("softirqs", "rows", d.row_count - d.irq_rows, 1);
	check_text("softirq", d.row[d.irq_rows].label, "NET_RX");
	check("NET_RX", "0", d.row[d.irq_rows].delta[0], 10);
	check("NET_RX", "1", d.row[d.irq_rows].delta[1], 5);
	check("times", "CPUs", d.time_count, 1);
	check("user", "ticks", d.times[0].ticks[TCPX_CPU_USER], 4);
	check("idle", "ticks", d.times[0].ticks[TCPX_CPU_IDLE], 0); /* it went back */
}

TEST_WITH(other_boots_and_times_are_refused, NULL, forget)
{
	make(&a, "boot x\nmono 5 6\n", " CPU0\n", "");
	make(&b, "boot y\nmono 7 8\n", " CPU0\n", "");
	capture_start();
	check("boots", "rc", tcpx_irqdiff_make(&a, &b, &d), -EINVAL);
	check("boots", "said", captured_count("two boots"), 1);
	tcpx_snapshot_fini(&b);
	make(&b, "boot x\nmono 1 2\n", " CPU0\n", "");
	check("order", "rc", tcpx_irqdiff_make(&a, &b, &d), -EINVAL);
	check("order", "said", captured_count("older"), 1);
}
