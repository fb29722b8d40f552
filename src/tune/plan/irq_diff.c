/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx irq diff: interrupts between two snapshots, by CPU. */
#include <stdlib.h>
#include <string.h>

#include "tune/plan/irq.h"
#include "tune/plan/irq_count.h"
#include "tool/opt.h"
#include "tool/out_text.h"
#include "tool/json_file.h"
#include "tool/tool.h"

#define NAME "tcpx irq diff"

struct args {
	const char *json, *root;
	bool per_cpu, per_queue;
};
#define S struct args

/* "-" between plain copies of proc/interrupts, which have no times. */
static const char *
rate(uint64_t count, double seconds, char buf[24])
{
	if (seconds > 0)
		snprintf(buf, 24, "%.0f", (double)count / seconds);
	else
		snprintf(buf, 24, "-");
	return buf;
}

static double
percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

/* ---- tables ----------------------------------------------------------------------- */

static void
print_nics(FILE *f, const struct tcpx_irqdiff *diff, const struct tcpx_snapshot *b)
{
	unsigned count;
	struct irq_sum *sums = irq_sums(diff, b, &count);

	fprintf(f, "%-15s %5s %5s %12s %12s %8s\n", "NIC", "node", "IRQs", "fired", "a second",
		"on node");
	for (unsigned i = 0; sums && i < count; i++) {
		const struct irq_sum *s = &sums[i];
		char node[16] = "-", local[16] = "-", a_second[24];

		if (s->node >= 0) {
			snprintf(node, sizeof(node), "%d", s->node);
			if (s->total)
				snprintf(local, sizeof(local), "%.1f %%",
					 percent(s->on_node, s->total));
		}
		fprintf(f, "%-15s %5s %5u %12llu %12s %8s\n", s->name ? s->name : "(others)",
			node, s->vectors, (unsigned long long)s->total,
			rate(s->total, diff->seconds, a_second), local);
	}
	free(sums);
}

static unsigned
busiest(const struct tcpx_irqdiff *diff, const struct tcpx_irqdiff_row *row)
{
	unsigned best = 0;

	for (unsigned i = 1; i < diff->cpu_count; i++)
		if (row->delta[i] > row->delta[best])
			best = i;
	return best;
}

static void
busiest_text(const struct tcpx_irqdiff *diff, const struct tcpx_irqdiff_row *row, char buf[32])
{
	unsigned best;

	if (!row->total || !diff->cpu_count)
		return;
	best = busiest(diff, row);
	snprintf(buf, 32, "%u (%.0f %%)", diff->cpu[best], percent(row->delta[best], row->total));
}

/* Of plain copies, which name owners and no NICs: the IRQs that fired. */
static void
print_irqs(FILE *f, const struct tcpx_irqdiff *diff)
{
	fprintf(f, "%6s %12s %-12s  %s\n", "IRQ", "fired", "busiest CPU", "owners");
	for (unsigned i = 0; i < diff->irq_rows; i++) {
		const struct tcpx_irqdiff_row *row = &diff->row[i];
		char cpu[32] = "-";

		if (row->irq < 0 || !row->total)
			continue;
		busiest_text(diff, row, cpu);
		fprintf(f, "%6ld %12llu %-12s  ", row->irq, (unsigned long long)row->total, cpu);
		out_plain(f, row->names);
		fputc('\n', f);
	}
}

static void
print_queue(FILE *f, const struct tcpx_irqdiff *diff, const struct tcpx_irqdiff_row *row)
{
	const struct tcpx_snap_vector *v = row->vector;
	char queue[16] = "-", cpu[32] = "-", a_second[24];
	char *list = tool_cpu_list(&v->effective);

	if (v->queue >= 0)
		snprintf(queue, sizeof(queue), "%d", v->queue);
	busiest_text(diff, row, cpu);
	fprintf(f, "%-15s %-7s %5s %6ld %12llu %12s %-12s %-10s %s%s\n",
		row->of->nics[v->nic].name, tcpx_vector_kind_name(v->kind), queue, row->irq,
		(unsigned long long)row->total, rate(row->total, diff->seconds, a_second), cpu,
		v->effective_known && *list ? list : "-",
		row->state == TCPX_IRQ_SAME ? "" : tcpx_irqdiff_state_name(row->state),
		row->moved ? " moved" : "");
	free(list);
}

static void
print_queues(FILE *f, const struct tcpx_irqdiff *diff)
{
	fprintf(f, "\n%-15s %-7s %5s %6s %12s %12s %-12s %-10s\n", "NIC", "kind", "queue", "IRQ",
		"fired", "a second", "busiest CPU", "fires on");
	for (unsigned i = 0; i < diff->irq_rows; i++)
		if (diff->row[i].vector)
			print_queue(f, diff, &diff->row[i]);
}

static const struct tcpx_cpu_times *
times_of(const struct tcpx_irqdiff *diff, unsigned cpu)
{
	for (unsigned i = 0; i < diff->time_count; i++)
		if (diff->times[i].cpu == cpu)
			return &diff->times[i];
	return NULL;
}

static void
print_time(FILE *f, const struct tcpx_cpu_times *times)
{
	uint64_t all = 0, user, system;

	for (unsigned k = 0; times && k < TCPX_CPU_GUEST; k++) /* guest is in user already */
		all += times->ticks[k];
	if (!all) {
		fprintf(f, " %7s %7s %7s %7s", "-", "-", "-", "-");
		return;
	}
	user = times->ticks[TCPX_CPU_USER] + times->ticks[TCPX_CPU_NICE];
	system = times->ticks[TCPX_CPU_SYSTEM] + times->ticks[TCPX_CPU_IRQ];
	fprintf(f, " %6.1f%% %6.1f%% %6.1f%% %6.1f%%", percent(user, all), percent(system, all),
		percent(times->ticks[TCPX_CPU_SOFTIRQ], all),
		percent(times->ticks[TCPX_CPU_IDLE] + times->ticks[TCPX_CPU_IOWAIT], all));
}

static void
print_cpus(FILE *f, const struct tcpx_irqdiff *diff)
{
	const struct tcpx_irqdiff_row *rx = irq_softirq(diff, "NET_RX");
	const struct tcpx_irqdiff_row *tx = irq_softirq(diff, "NET_TX");

	fprintf(f, "\n%-5s %12s %12s %12s %7s %7s %7s %7s\n", "CPU", "IRQs of NICs", "NET_RX",
		"NET_TX", "user", "system", "softirq", "idle");
	for (unsigned i = 0; i < diff->cpu_count; i++) {
		fprintf(f, "%-5u %12llu %12u %12u", diff->cpu[i],
			(unsigned long long)irq_nic_count(diff, i), rx ? rx->delta[i] : 0,
			tx ? tx->delta[i] : 0);
		print_time(f, times_of(diff, diff->cpu[i]));
		fputc('\n', f);
	}
}

static void
print_changes(FILE *f, const struct tcpx_irqdiff *diff)
{
	for (unsigned i = 0; i < diff->irq_rows; i++) {
		const struct tcpx_irqdiff_row *row = &diff->row[i];

		if (row->irq < 0 || (row->state == TCPX_IRQ_SAME && !row->moved))
			continue;
		fprintf(f, "IRQ %ld %s%s: ", row->irq,
			row->state == TCPX_IRQ_ANEW ? "was made anew, counts are since then" :
			row->state == TCPX_IRQ_CAME ? "came in between" :
			row->state == TCPX_IRQ_GONE ? "is gone" : "",
			row->moved ? (row->state == TCPX_IRQ_SAME ? "was sent elsewhere"
								  : ", was sent elsewhere") : "");
		out_plain(f, row->names);
		fputc('\n', f);
	}
	if (diff->cpus_changed)
		fprintf(f, "%u CPUs came or went: nothing is counted for them\n",
			diff->cpus_changed);
}

void
irq_diff_print(FILE *f, const struct tcpx_irqdiff *diff, const struct tcpx_snapshot *b,
	       bool per_queue, bool per_cpu)
{
	if (diff->seconds > 0)
		fprintf(f, "%.3f s\n\n", diff->seconds);
	if (b->nic_count)
		print_nics(f, diff, b);
	else
		print_irqs(f, diff);
	if (per_queue)
		print_queues(f, diff);
	if (per_cpu)
		print_cpus(f, diff);
	if (irq_changed(diff)) {
		fputc('\n', f);
		print_changes(f, diff);
	}
}

/* ---- the command ------------------------------------------------------------------ */

static int
get(const char *word, const char *root, struct tcpx_snapshot *snap)
{
	return !strcmp(word, "live") ? irq_count_now(NAME, root, NULL, snap)
				     : irq_count_load(word, snap);
}

static int
compare(const struct tcpx_snapshot *a, const struct tcpx_snapshot *b, const struct args *w)
{
	struct tcpx_irqdiff diff;
	int rc = TOOL_OK;

	if (tcpx_irqdiff_make(a, b, &diff) < 0)
		return TOOL_USAGE;
	if (w->json)
		rc = tool_json_put(NAME, irq_diff_json(&diff, b), w->json);
	if (!w->json || strcmp(w->json, "-"))
		irq_diff_print(stdout, &diff, b, w->per_queue, w->per_cpu);
	if (rc == TOOL_OK && irq_changed(&diff))
		rc = TOOL_FINDING;
	tcpx_irqdiff_fini(&diff);
	return rc;
}

int
irq_diff(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'c', "per-cpu", NULL, "also a line a CPU: interrupts of NICs, softirqs, and "
		  "what its time went to", OPT_FLAG(per_cpu) },
		{ 'q', "per-queue", NULL, "also a line a vector: queue, count, where it fired "
		  "and where it may", OPT_FLAG(per_queue) },
		{ 'j', "json", "FILE", "all of it as JSON; - is stdout", OPT_TEXT(json) },
		{ 0, "root", "DIR", "\"live\" is the machine whose /sys and /proc lie in DIR",
		  OPT_TEXT(root) },
	};
	static const struct opt_command cmd = {
		NAME, "[OPTIONS] A B",
		"Shows what fired between two snapshots of one boot, and whether on the NIC's own "
		"node. A and B are files of tcpx irq snapshot, plain copies of /proc/interrupts "
		"(which have no times, and no NICs but by the other), or \"live\": now. Exit code 1: "
		"vectors were moved, made anew, came or went, or CPUs did, so that counts do not "
		"tell all.",
		opts, ARRAY_LEN(opts),
		"  tcpx irq snapshot -o before; sleep 10; tcpx irq diff before live --per-queue\n"
		"  cat /proc/interrupts >before; sleep 10; tcpx irq diff before live\n",
		false, NULL,
	};
	struct args w = { .json = NULL };
	struct tcpx_snapshot a, b;
	struct opt_parser p;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &w))
		return p.exit;
	if (argc - p.first_word != 2)
		return tool_usage(NAME, "two snapshots are compared, not %d", argc - p.first_word);
	rc = get(argv[p.first_word], w.root, &a);
	if (rc)
		return rc;
	rc = get(argv[p.first_word + 1], w.root, &b);
	if (rc == TOOL_OK) {
		rc = compare(&a, &b, &w);
		tcpx_snapshot_fini(&b);
	}
	tcpx_snapshot_fini(&a);
	return rc;
}
