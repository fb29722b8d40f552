/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder: over trees whose counts change between two looks, and over this process. */
#include "../tree_rig.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tune/record/nicstat.h"
#include "tune/record/sample.h"
#include "tune/record/threads.h"

#define SECOND 1000000000ull

/* ---- parsers ---------------------------------------------------------------------- */

static void
counts_are_strict(void **state)
{
	static const struct {
		const char *text;
		int n;
		uint32_t last;
	} rows[] = {
		{ "0", 1, 0 }, { "1,2,3\n", 3, 3 }, { "4294967295", 1, UINT32_MAX },
		{ "4294967296", -EINVAL, 0 }, { "99999999999999999999", -EINVAL, 0 },
		{ "", -EINVAL, 0 }, { "\n", -EINVAL, 0 }, { ",", -EINVAL, 0 },
		{ "1,", -EINVAL, 0 }, { "1,,2", -EINVAL, 0 }, { "-1", -EINVAL, 0 },
		{ "1 2", -EINVAL, 0 }, { "x", -EINVAL, 0 }, { "1,2\n3", -EINVAL, 0 },
		{ "1,2,3,4,5", -ERANGE, 0 },
	};
	uint32_t counts[4];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int n = tcpx_sample_counts_parse(rows[i].text, counts, ARRAY_LEN(counts));

		check(rows[i].text, "n", n, rows[i].n);
		if (n > 0)
			check(rows[i].text, "last", counts[n - 1], rows[i].last);
	}
}

static void
switches_are_found_at_the_begin_of_a_line(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} rows[] = {
		{ "Name:\ta\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n", 0 },
		/* a thread may call itself anything */
		{ "Name:\tvoluntary_ctxt_switches:99\nvoluntary_ctxt_switches:\t12\n"
		  "nonvoluntary_ctxt_switches:\t3\n", 0 },
		{ "nonvoluntary_ctxt_switches:\t3\nvoluntary_ctxt_switches:\t12\n", 0 },
		{ "nonvoluntary_ctxt_switches:\t3\n", -EINVAL },
		{ "voluntary_ctxt_switches:\t12\n", -EINVAL },
		{ "voluntary_ctxt_switches:\t-1\nnonvoluntary_ctxt_switches:\t3\n", -EINVAL },
		{ "voluntary_ctxt_switches:\nnonvoluntary_ctxt_switches:\n", -EINVAL },
		{ "voluntary_ctxt_switches:\t99999999999999999999999\n"
		  "nonvoluntary_ctxt_switches:\t3\n", -EINVAL },
		{ "", -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_thread_switches s = { 0, 0 };

		check(rows[i].text, "rc", tcpx_thread_switches_parse(rows[i].text, &s), rows[i].rc);
		if (rows[i].rc == 0) {
			check(rows[i].text, "voluntary", s.voluntary, 12);
			check(rows[i].text, "involuntary", s.involuntary, 3);
		}
	}
}

/* ---- over a tree ------------------------------------------------------------------ */

struct want {
	const struct tcpx_sampler *s;
	enum tcpx_sample_kind kind;
	long id;
	int cpu; /* -2: any */
	enum tcpx_sample_metric metric;
	uint64_t sum;
	unsigned count;
};

static void
add(void *arg, const struct tcpx_sample *sample)
{
	struct want *w = arg;
	const struct tcpx_sample_object *o = tcpx_sampler_object(w->s, sample->object);

	if (o->kind != w->kind || (w->id && o->id != w->id) || sample->metric != w->metric ||
	    (w->cpu != -2 && sample->cpu != w->cpu))
		return;
	w->sum += sample->value;
	w->count++;
}

static uint64_t
sum(const struct tcpx_sampler *s, enum tcpx_sample_kind kind, long id, int cpu,
    enum tcpx_sample_metric metric)
{
	struct want w = { s, kind, id, cpu, metric, 0, 0 };

	tcpx_sampler_each(s, add, &w);
	return w.sum;
}

static struct tcpx_sampler *
begin(const struct rig *rig, uint32_t cells)
{
	static const long pids[] = { 1000 };
	struct tcpx_sample_options o = {
		.root = rig->tree.root, .thread_root = rig->tree.root, .topo = rig->topo,
		.pids = pids, .pid_count = 1, .interval_ns = SECOND, .cells = cells,
	};
	struct tcpx_sampler *s;

	assert_int_equal(tcpx_sampler_new(&o, 0, &s), 0);
	return s;
}

static uint64_t
tick_us(void)
{
	return 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

static void
differences_of_cpus(void **state)
{
	struct tcpx_sampler *s;
	struct rig rig;

	rig_load(&rig, "virtio-2cpu");
	fixture_write(&rig.tree, "proc/stat", "cpu0 10 1 5 100 2 1 3 4 0 0\ncpu1 1 1 1 1 1 1 1 1\n");
	s = begin(&rig, 0);
	/* idle goes back, a CPU goes away and another comes */
	fixture_write(&rig.tree, "proc/stat", "cpu0 15 2 6 90 2 2 5 8 0 0\ncpu3 9 9 9 9 9 9 9 9\n");
	tcpx_sampler_take(s, SECOND);
	fixture_write(&rig.tree, "proc/stat", "cpu3 10 9 9 9 9 9 9 9\n");
	tcpx_sampler_take(s, 2 * SECOND);
	check("user", "with nice", sum(s, TCPX_SAMPLE_IS_CPU, 0, 0, TCPX_SAMPLE_USER), 6 * tick_us());
	check("system", "with irq", sum(s, TCPX_SAMPLE_IS_CPU, 0, 0, TCPX_SAMPLE_SYSTEM),
	      2 * tick_us());
	check("softirq", "", sum(s, TCPX_SAMPLE_IS_CPU, 0, 0, TCPX_SAMPLE_SOFTIRQ), 2 * tick_us());
	check("idle", "clamped", sum(s, TCPX_SAMPLE_IS_CPU, 0, 0, TCPX_SAMPLE_IDLE), 0);
	check("steal", "", sum(s, TCPX_SAMPLE_IS_CPU, 0, 0, TCPX_SAMPLE_STEAL), 4 * tick_us());
	check("CPU 3", "that came", sum(s, TCPX_SAMPLE_IS_CPU, 0, 3, TCPX_SAMPLE_USER), tick_us());
	tcpx_sampler_free(s);
	rig_free(&rig);
}

static void
differences_of_vectors(void **state)
{
	struct tcpx_sample_cost cost;
	struct tcpx_sampler *s;
	struct rig rig;

	rig_load(&rig, "virtio-2cpu");
	fixture_write(&rig.tree, "sys/kernel/irq/38/per_cpu_count", "4294967290,7");
	fixture_write(&rig.tree, "sys/kernel/irq/39/per_cpu_count", "1000,0");
	s = begin(&rig, 0);
	tcpx_sampler_cost(s, &cost);
	check_text("source", cost.irq_source, "/sys/kernel/irq/N/per_cpu_count");
	/* one wraps, one is made anew, one says what makes no sense */
	fixture_write(&rig.tree, "sys/kernel/irq/38/per_cpu_count", "4,9");
	fixture_write(&rig.tree, "sys/kernel/irq/39/per_cpu_count", "3,0");
	fixture_write(&rig.tree, "sys/kernel/irq/37/per_cpu_count", "garbage");
	tcpx_sampler_take(s, SECOND);
	check("38", "CPU 0", sum(s, TCPX_SAMPLE_IS_IRQ, 38, 0, TCPX_SAMPLE_COUNT), 10);
	check("38", "CPU 1", sum(s, TCPX_SAMPLE_IS_IRQ, 38, 1, TCPX_SAMPLE_COUNT), 2);
	check("39", "anew", sum(s, TCPX_SAMPLE_IS_IRQ, 39, 0, TCPX_SAMPLE_COUNT), 3);
	check("37", "nothing", sum(s, TCPX_SAMPLE_IS_IRQ, 37, -2, TCPX_SAMPLE_COUNT), 0);
	check_text("name", tcpx_sampler_object(s, 4)->name, "eth0-rx-0");
	tcpx_sampler_free(s);
	rig_free(&rig);
}

static void
the_table_serves_where_files_are_missing(void **state)
{
	struct tcpx_sample_cost cost;
	struct tcpx_sampler *s;
	struct rig rig;
	char path[256];

	rig_load(&rig, "virtio-2cpu");
	snprintf(path, sizeof(path), "%s/sys/kernel/irq/38/per_cpu_count", rig.tree.root);
	assert_int_equal(unlink(path), 0);
	fixture_write(&rig.tree, "proc/interrupts", "  CPU0 CPU1\n38: 1 2 PCI-MSIX 1-edge a\n");
	s = begin(&rig, 0);
	tcpx_sampler_cost(s, &cost);
	check_text("source", cost.irq_source, "/proc/interrupts");
	fixture_write(&rig.tree, "proc/interrupts", "  CPU1\n38: 5 PCI-MSIX 1-edge a\n");
	tcpx_sampler_take(s, SECOND);
	check("38", "CPU 1", sum(s, TCPX_SAMPLE_IS_IRQ, 38, 1, TCPX_SAMPLE_COUNT), 3);
	check("38", "CPU 0", sum(s, TCPX_SAMPLE_IS_IRQ, 38, 0, TCPX_SAMPLE_COUNT), 0);
	tcpx_sampler_free(s);
	rig_free(&rig);
}

static void
put_thread(struct fixture *f, long pid, long tid, const char *name, unsigned start, unsigned user,
	   unsigned cpu, const char *children)
{
	char path[128], text[512];

	snprintf(path, sizeof(path), "proc/%ld/task/%ld/stat", pid, tid);
	snprintf(text, sizeof(text), "%ld (%s) S 1 2 3 4 -1 6 7 8 9 10 %u 0 16 17 20 0 1 0 %u 23 24 "
		 "25 26 27 28 29 30 31 32 33 34 35 36 37 17 %u 0 0\n", tid, name, user, start, cpu);
	fixture_write(f, path, text);
	snprintf(path, sizeof(path), "proc/%ld/task/%ld/status", pid, tid);
	snprintf(text, sizeof(text), "Name:\t%s\nvoluntary_ctxt_switches:\t%u\n"
		 "nonvoluntary_ctxt_switches:\t1\n", name, user * 2);
	fixture_write(f, path, text);
	snprintf(path, sizeof(path), "proc/%ld/task/%ld/children", pid, tid);
	fixture_write(f, path, children);
}

static const struct tcpx_sample_object *
thread_object(const struct tcpx_sampler *s, long tid, unsigned nth)
{
	const struct tcpx_sample_object *o;

	for (unsigned i = 0; (o = tcpx_sampler_object(s, i)) != NULL; i++)
		if (o->kind == TCPX_SAMPLE_IS_THREAD && o->id == tid && nth-- == 0)
			return o;
	return NULL;
}

static void
threads_come_go_and_are_not_mistaken(void **state)
{
	struct tcpx_sampler *s;
	struct rig rig;
	char path[256];

	rig_load(&rig, "virtio-2cpu");
	put_thread(&rig.tree, 1000, 1000, "w) x(0", 500, 100, 0, "2000 x");
	put_thread(&rig.tree, 1000, 1001, "helper", 501, 7, 1, "");
	put_thread(&rig.tree, 2000, 2000, "child", 502, 1, 1, "");
	s = begin(&rig, 0);
	/* one runs, the helper's id is another thread now, the child starts a child */
	put_thread(&rig.tree, 1000, 1000, "renamed", 500, 110, 1, "2000");
	put_thread(&rig.tree, 1000, 1001, "another", 900, 3, 0, "");
	put_thread(&rig.tree, 2000, 2000, "child", 502, 2, 1, "3000");
	put_thread(&rig.tree, 3000, 3000, "late", 910, 5, 0, "");
	tcpx_sampler_take(s, SECOND);
	check("1000", "on CPU 1", sum(s, TCPX_SAMPLE_IS_THREAD, 1000, 1, TCPX_SAMPLE_USER),
	      10 * tick_us());
	check("1000", "switches", sum(s, TCPX_SAMPLE_IS_THREAD, 1000, 1, TCPX_SAMPLE_VOLUNTARY), 20);
	check_text("1000", thread_object(s, 1000, 0)->name, "renamed");
	check("1001", "from its begin", sum(s, TCPX_SAMPLE_IS_THREAD, 1001, -2, TCPX_SAMPLE_USER),
	      3 * tick_us());
	check_text("1001", thread_object(s, 1001, 0)->name, "helper");
	check_text("1001", thread_object(s, 1001, 1)->name, "another");
	check("3000", "followed", sum(s, TCPX_SAMPLE_IS_THREAD, 3000, 0, TCPX_SAMPLE_USER),
	      5 * tick_us());
	check("2000", "ran", sum(s, TCPX_SAMPLE_IS_THREAD, 2000, 1, TCPX_SAMPLE_USER), tick_us());
	/* a thread ends in the middle of a look, then its process */
	snprintf(path, sizeof(path), "%s/proc/1000/task/1001/stat", rig.tree.root);
	assert_int_equal(unlink(path), 0);
	tcpx_sampler_take(s, 2 * SECOND);
	/* and the process that has its id next is none of ours */
	put_thread(&rig.tree, 2000, 2000, "stranger", 950, 77, 0, "");
	tcpx_sampler_take(s, 3 * SECOND);
	assert_null(thread_object(s, 2000, 1));
	tcpx_sampler_free(s);
	rig_free(&rig);
}

/* ---- time and room ---------------------------------------------------------------- */

static void
samples_keep_to_their_grid(void **state)
{
	struct tcpx_sample_cost cost;
	struct tcpx_sampler *s;
	struct rig rig;

	rig_load(&rig, "virtio-2cpu");
	s = begin(&rig, 0);
	check("first", "due", tcpx_sampler_due(s), SECOND);
	tcpx_sampler_take(s, SECOND + 1000);
	check("in time", "due", tcpx_sampler_due(s), 2 * SECOND);
	tcpx_sampler_take(s, 2 * SECOND + SECOND / 2);
	check("late", "due", tcpx_sampler_due(s), 3 * SECOND);
	tcpx_sampler_take(s, 5 * SECOND + 1);
	check("two missed", "due", tcpx_sampler_due(s), 6 * SECOND);
	tcpx_sampler_take(s, 5 * SECOND + 2); /* an extra one, at the end */
	check("extra", "due", tcpx_sampler_due(s), 6 * SECOND);
	tcpx_sampler_cost(s, &cost);
	check("cost", "samples", cost.samples, 4);
	check("cost", "late", cost.late, 2);
	check("cost", "missed", cost.missed, 2);
	check("cost", "lost", cost.lost, 0);
	check("cost", "is known", cost.cpu_ns > 0 && cost.cpu_max_ns <= cost.cpu_ns, 1);
	tcpx_sampler_free(s);
	rig_free(&rig);
}

static void
old_samples_make_room(void **state)
{
	struct tcpx_sample_cost cost;
	struct tcpx_sampler *s;
	struct rig rig;
	char text[64];

	rig_load(&rig, "virtio-2cpu");
	fixture_write(&rig.tree, "proc/stat", "cpu0 0 0 0 0\n");
	s = begin(&rig, 8);
	for (unsigned i = 1; i <= 50; i++) {
		snprintf(text, sizeof(text), "cpu0 %u %u %u %u\n", i, 0, i, i);
		fixture_write(&rig.tree, "proc/stat", text);
		tcpx_sampler_take(s, i * SECOND);
	}
	tcpx_sampler_cost(s, &cost);
	check("samples", "lost", cost.lost >= 45 && cost.lost < 50, 1);
	/* the last is whole */
	check("last", "user", sum(s, TCPX_SAMPLE_IS_CPU, 0, 0, TCPX_SAMPLE_USER) >= tick_us(), 1);
	check("all", "alike", sum(s, TCPX_SAMPLE_IS_CPU, 0, 0, TCPX_SAMPLE_USER),
	      sum(s, TCPX_SAMPLE_IS_CPU, 0, 0, TCPX_SAMPLE_IDLE));
	tcpx_sampler_free(s);
	rig_free(&rig);
}

static void
a_machine_that_tells_nothing(void **state)
{
	struct tcpx_sample_cost cost;
	struct tcpx_sampler *s;
	struct rig rig;

	rig_load(&rig, "nothing");
	s = begin(&rig, 0);
	tcpx_sampler_take(s, SECOND);
	tcpx_sampler_cost(s, &cost);
	assert_non_null(cost.cpu_why);
	assert_non_null(cost.irq_why);
	tcpx_sampler_free(s);
	rig_free(&rig);
	assert_int_equal(tcpx_sampler_new(&(struct tcpx_sample_options){ .root = "/" }, 0, &s),
			 -EINVAL);
}

static void
this_process_is_seen(void **state)
{
	long pids[] = { getpid(), 0x7ffffffe };
	struct tcpx_sample_options o = { .pids = pids, .pid_count = 2, .interval_ns = SECOND };
	const struct tcpx_sample_object *o_self;
	struct tcpx_thread_stat stat[64];
	struct tcpx_sampler *s;
	int n;

	assert_int_equal(tcpx_sampler_new(&o, 0, &s), 0);
	/* until the kernel has counted a tick */
	do {
		n = tcpx_threads_read(NULL, pids[0], stat, ARRAY_LEN(stat));
		assert_true(n > 0);
		tcpx_sampler_take(s, SECOND);
	} while (!sum(s, TCPX_SAMPLE_IS_THREAD, pids[0], -2, TCPX_SAMPLE_USER) &&
		 !sum(s, TCPX_SAMPLE_IS_THREAD, pids[0], -2, TCPX_SAMPLE_SYSTEM));
	o_self = thread_object(s, syscall(SYS_gettid), 0);
	assert_non_null(o_self);
	assert_int_equal(o_self->pid, getpid());
	tcpx_sampler_free(s);
}

static void
counters_of_nics(void **state)
{
	struct tcpx_nicstat *stats;
	struct tcpx_asker asker;
	const char *why;
	struct rig rig;
	unsigned n;

	rig_load(&rig, "virtio-2cpu");
	fixture_write(&rig.tree, "sys/class/net/eth0/statistics/rx_bytes", "123\n");
	tcpx_asker_open(rig.tree.root, &asker);
	assert_int_equal(tcpx_nicstat_read(rig.tree.root, &asker, "eth0", &stats, &n, &why), 0);
	check_text("why", why, "the tree does not tell");
	check("rx_bytes", "value", tcpx_nicstat_find(stats, n, "rx_bytes")->value, 123);
	free(stats);
	fixture_write(&rig.tree, "counters", "eth1 rx_devmem_pkts 1\nbad line\neth0 rx_devmem_pkts 9\n"
		      "eth0 bad -1\neth0 a-name-that-is-longer-than-the-kernel-has-them 2\n");
	assert_int_equal(tcpx_nicstat_read(rig.tree.root, &asker, "eth0", &stats, &n, &why), 0);
	assert_null(why);
	check("devmem", "value", tcpx_nicstat_find(stats, n, "rx_devmem_pkts")->value, 9);
	assert_null(tcpx_nicstat_find(stats, n, "bad"));
	free(stats);
	/* of this machine: whatever it has, and none of a NIC that is not there */
	tcpx_asker_close(&asker);
	tcpx_asker_open(NULL, &asker);
	assert_int_equal(tcpx_nicstat_read(NULL, &asker, "lo", &stats, &n, &why), 0);
	free(stats);
	assert_int_equal(tcpx_nicstat_read(NULL, &asker, "no-such-nic", &stats, &n, &why), 0);
	assert_int_equal(n, 0);
	assert_non_null(why);
	free(stats);
	tcpx_asker_close(&asker);
	rig_free(&rig);
}

static void
counters_of_the_processor_say_why_not(void **state)
{
	struct tcpx_pmu pmu;

	tcpx_pmu_open(getpid(), &pmu);
	for (unsigned i = 0; i < TCPX_PMU_EVENTS; i++)
		check(tcpx_pmu_name(i), "fd or why", (pmu.fd[i] >= 0) == !pmu.why[i], 1);
	tcpx_pmu_close(&pmu);
	for (unsigned i = 0; i < TCPX_PMU_EVENTS; i++)
		assert_non_null(tcpx_pmu_read(&pmu, i).why);
	check_text("errno", tcpx_pmu_why(ENOENT), "this machine has no such counter");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_strict),
		cmocka_unit_test(switches_are_found_at_the_begin_of_a_line),
		cmocka_unit_test(differences_of_cpus),
		cmocka_unit_test(differences_of_vectors),
		cmocka_unit_test(the_table_serves_where_files_are_missing),
		cmocka_unit_test(threads_come_go_and_are_not_mistaken),
		cmocka_unit_test(samples_keep_to_their_grid),
		cmocka_unit_test(old_samples_make_room),
		cmocka_unit_test(a_machine_that_tells_nothing),
		cmocka_unit_test(this_process_is_seen),
		cmocka_unit_test(counters_of_nics),
		cmocka_unit_test(counters_of_the_processor_say_why_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
