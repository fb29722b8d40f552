/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for people, from diag.json. No content of it makes these functions fail. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/diag/diag.h"
#include "measure/job/job.h"
#include "tool/out_text.h"
#include "tool/tool.h"

#define TOP 10 /* CPUs that a summary shows */

/* A text, or "-" for null. */
static const char *
text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return !text ? "-" : *text ? text : "none";
}

static void
cell(FILE *f, const char *text, int width)
{
	int len = (int)strlen(text);

	out_plain(f, text);
	fprintf(f, "%*s", len < width ? width - len + 1 : 1, "");
}

/* ---- NICs ------------------------------------------------------------------------- */

void
diag_print_nics(FILE *f, const json_t *diag)
{
	static const struct {
		const char *head, *key;
	} lists[] = {
		{ "default affinity", "default_affinity" },
		{ "observed CPUs", "observed_cpus" },
		{ "TX CPUs", "tx_bindings" },
		{ "RX CPUs", "rx_bindings" },
	};
	const json_t *nics = json_object_get(diag, "nics"), *nic;
	size_t i;

	fprintf(f, "%-15s %4s %5s %10s %10s %10s\n", "NIC", "node", "IRQs", "fired", "TX", "RX");
	json_array_foreach(nics, i, nic) {
		char node[16] = "-", tx[OUT_QUANTITY], rx[OUT_QUANTITY];
		const json_t *id = json_object_get(nic, "node");

		if (json_is_integer(id))
			snprintf(node, sizeof(node), "%d", (int)json_integer_value(id));
		cell(f, job_text(nic, "name"), 15);
		fprintf(f, "%4s %5.0f %10.0f %10s %10s\n", node, job_real(nic, "vectors"),
			job_real(nic, "irqs"),
			out_amount((uint64_t)fmax(0, job_real(nic, "tx_bytes")), tx),
			out_amount((uint64_t)fmax(0, job_real(nic, "rx_bytes")), rx));
		for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
			const char *text = text_of(nic, lists[k].key);

			if (!strcmp(text, "-"))
				continue;
			fprintf(f, "  %-16s ", lists[k].head);
			out_wrapf(f, 19, "%s", text);
		}
	}
}

/* ---- figures ---------------------------------------------------------------------- */

static void
figure(FILE *f, const json_t *point, const char *key, int width, int decimals)
{
	const json_t *v = json_object_get(point, key);

	if (json_is_number(v))
		fprintf(f, " %*.*f", width, decimals, json_number_value(v));
	else
		fprintf(f, " %*s", width, "-");
}

/* Of GPUs that ran at the same time, a figure each: their sum, or NAN. */
static double
total_of(const json_t *points)
{
	const json_t *point, *other;
	double total = 0;
	size_t i, k;

	json_array_foreach(points, i, point) {
		const char *label = text_of(point, "label");

		if (strncmp(label, "GPU ", 4) != 0)
			return NAN;
		json_array_foreach(points, k, other)
			if (k < i && !strcmp(text_of(other, "label"), label))
				return NAN;
		total += job_real(point, "busbw_GBps");
	}
	return i > 1 ? total : NAN;
}

void
diag_print_metrics(FILE *f, const json_t *diag)
{
	const json_t *metrics = json_object_get(diag, "metrics"), *point, *best = NULL;
	const json_t *points = json_object_get(metrics, "points");
	size_t i;

	fprintf(f, "operation: %s\n\n", text_of(metrics, "operation"));
	fprintf(f, "%-10s %13s %8s %12s %9s %9s %9s\n", "", "size (B)", "iters", "time (us)",
		"algbw", "busbw", "#wrong");
	json_array_foreach(points, i, point) {
		cell(f, job_text(point, "label"), 10);
		figure(f, point, "size", 12, 0);
		figure(f, point, "iters", 8, 0);
		figure(f, point, "time_us", 12, 2);
		figure(f, point, "algbw_GBps", 9, 2);
		figure(f, point, "busbw_GBps", 9, 2);
		figure(f, point, "wrong", 9, 0);
		fputc('\n', f);
		if (!best || job_real(point, "busbw_GBps") > job_real(best, "busbw_GBps"))
			best = point;
	}
	if (best)
		fprintf(f, "\nbest bus bandwidth: %.2f GB/s", job_real(best, "busbw_GBps"));
	if (best && job_real(best, "size") > 0)
		fprintf(f, " at %.0f B", job_real(best, "size"));
	if (best)
		fputc('\n', f);
	if (total_of(points) > 0)
		fprintf(f, "total: %.2f GB/s by %zu GPUs\n", total_of(points),
			json_array_size(points));
	if (json_is_integer(json_object_get(metrics, "window")))
		fprintf(f, "depth: at most %.0f messages a channel\n", job_real(metrics, "window"));
	if (json_is_number(json_object_get(metrics, "avg_busbw_GBps")))
		fprintf(f, "average bus bandwidth, as the command says: %.2f GB/s\n",
			job_real(metrics, "avg_busbw_GBps"));
}

/* ---- CPUs ------------------------------------------------------------------------- */

static double
time_of(const json_t *json)
{
	return job_real(json, "user_s") + job_real(json, "system_s") + job_real(json, "softirq_s");
}

static int
by_time(const void *a, const void *b)
{
	double x = time_of(*(json_t *const *)a), y = time_of(*(json_t *const *)b);

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The CPUs that had most to do. */
static void
print_cpus(FILE *f, const json_t *diag)
{
	const json_t *cpus = json_object_get(diag, "cpus");
	size_t n = json_array_size(cpus);
	json_t **all = malloc((n + 1) * sizeof(json_t *));

	n = all ? n : 0;
	for (size_t i = 0; i < n; i++)
		all[i] = json_array_get(cpus, i);
	if (all)
		qsort(all, n, sizeof(json_t *), by_time);
	fprintf(f, "%-5s %8s %8s %8s %8s %7s\n", "CPU", "user s", "system s", "softirq", "steal",
		"busy");
	for (size_t i = 0; i < n && i < TOP; i++)
		fprintf(f, "%-5.0f %8.2f %8.2f %8.2f %8.2f %6.1f%%\n",
			job_real(all[i], "cpu"), job_real(all[i], "user_s"),
			job_real(all[i], "system_s"), job_real(all[i], "softirq_s"),
			job_real(all[i], "steal_s"), 100 * job_real(all[i], "busy"));
	if (n > TOP)
		fprintf(f, "(%zu more in diag.json)\n", n - TOP);
	free(all);
}

/* ---- the summary ------------------------------------------------------------------ */

static void
print_command(FILE *f, const json_t *diag)
{
	const json_t *words = json_object_get(diag, "command"), *word;
	size_t i;

	fputs("command:  ", f);
	json_array_foreach(words, i, word) {
		fputs(i ? " " : "", f);
		out_plain(f, json_string_value(word));
	}
	fprintf(f, "\nended:    exit code %.0f", job_real(diag, "exit_code"));
	if (json_is_integer(json_object_get(diag, "signal")))
		fprintf(f, ", by signal %.0f", job_real(diag, "signal"));
	fprintf(f, ", after %.3f s\nstarted:  %s on ", job_real(diag, "seconds"),
		job_text(diag, "started"));
	out_plain(f, job_text(diag, "host"));
	fputs(", Linux ", f);
	out_plain(f, job_text(diag, "kernel"));
	fprintf(f, ", %.0f CPUs\n", job_real(diag, "cpu_count"));
}

static void
print_manager(FILE *f, const json_t *diag)
{
	const json_t *list = json_object_get(json_object_get(diag, "rxdm"), "processes"), *one;
	size_t i;

	if (!json_array_size(list))
		fputs("no data path manager (RxDM) runs here\n", f);
	json_array_foreach(list, i, one) {
		fprintf(f, "data path manager: process %.0f, ", job_real(one, "pid"));
		out_plain(f, job_text(one, "name"));
		fputc('\n', f);
	}
}

/* Prints the counter rx_devmem_pkts: standing still while bytes came is a finding. */
static void
print_devmem(FILE *f, const json_t *diag)
{
	const json_t *nics = json_object_get(diag, "nics"), *nic;
	size_t i;

	json_array_foreach(nics, i, nic) {
		const json_t *v = json_object_get(json_object_get(nic, "counters"),
						  "rx_devmem_pkts");

		if (!v)
			continue;
		out_plain(f, job_text(nic, "name"));
		fprintf(f, ": rx_devmem_pkts rose by %.0f\n", json_number_value(v));
	}
}

static void
print_changes(FILE *f, const json_t *diag)
{
	const json_t *irq = json_object_get(diag, "irq");

	if (!json_is_object(irq))
		fputs("no counts of interrupts can be read here\n", f);
	else if (json_is_true(json_object_get(irq, "changed")))
		fputs("vectors were moved or changed hands during the run: see irq_diff.txt\n", f);
}

void
diag_print_summary(FILE *f, const json_t *diag)
{
	print_command(f, diag);
	if (json_array_size(json_object_get(json_object_get(diag, "metrics"), "points"))) {
		fputc('\n', f);
		diag_print_metrics(f, diag);
	}
	fputc('\n', f);
	diag_print_nics(f, diag);
	print_devmem(f, diag);
	print_changes(f, diag);
	fputc('\n', f);
	print_cpus(f, diag);
	fputc('\n', f);
	print_manager(f, diag);
}
