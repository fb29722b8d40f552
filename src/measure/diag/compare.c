/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx diag compare: two runs side by side. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "measure/diag/diag.h"
#include "measure/job/job.h"
#include "tool/opt.h"
#include "tool/out_text.h"
#include "tool/json_file.h"
#include "tool/output.h"
#include "tool/tool.h"

#define NAME "tcpx diag compare"

/* ---- costs of a run --------------------------------------------------------------- */

enum { SECONDS, GB, IRQS, ON_NODE, CPU_S, SOFTIRQ_S, SWITCHES, BUSIEST, COSTS };

static const struct {
	const char *name, *unit;
	bool of_gb; /* also shown for each GB */
} costs[COSTS] = {
	[SECONDS] = { "duration", "s", false },
	[GB] = { "moved by NICs, both ways", "GB", false },
	[IRQS] = { "interrupts of NICs", "", true },
	[ON_NODE] = { "of them on the NIC's node", "%", false },
	[CPU_S] = { "CPU time of the command", "s", true },
	[SOFTIRQ_S] = { "softirq time of all CPUs", "s", true },
	[SWITCHES] = { "context switches of the command", "", true },
	[BUSIEST] = { "busiest CPU", "%", false },
};

static void
sum_up(const json_t *diag, double cost[COSTS])
{
	const json_t *usage = json_object_get(diag, "usage"), *one;
	double on_node = 0;
	size_t i;

	memset(cost, 0, COSTS * sizeof(*cost));
	cost[SECONDS] = job_real(diag, "seconds");
	json_array_foreach(json_object_get(diag, "nics"), i, one) {
		cost[GB] += (job_real(one, "tx_bytes") + job_real(one, "rx_bytes")) / 1e9;
		cost[IRQS] += job_real(one, "irqs");
		on_node += job_real(one, "irqs_on_node");
	}
	cost[ON_NODE] = cost[IRQS] > 0 ? 100 * on_node / cost[IRQS] : NAN;
	cost[CPU_S] = job_real(usage, "user_s") + job_real(usage, "system_s");
	cost[SWITCHES] = job_real(usage, "voluntary") + job_real(usage, "involuntary");
	json_array_foreach(json_object_get(diag, "cpus"), i, one) {
		cost[SOFTIRQ_S] += job_real(one, "softirq_s");
		cost[BUSIEST] = fmax(cost[BUSIEST], 100 * job_real(one, "busy"));
	}
}

static void
print_cost(const char *name, const char *unit, double a, double b)
{
	double pair[] = { a, b };

	printf("%-40s", name);
	for (int i = 0; i < 2; i++) {
		char text[OUT_QUANTITY];

		printf(" %14s", isfinite(pair[i]) ? out_digits(pair[i], text) : "-");
	}
	printf("%s%s\n", *unit ? "  " : "", unit);
}

static void
print_costs(const json_t *a, const json_t *b)
{
	double x[COSTS], y[COSTS];

	sum_up(a, x);
	sum_up(b, y);
	printf("%-40s %14s %14s\n", "", "A", "B");
	for (unsigned i = 0; i < COSTS; i++) {
		char name[64];

		print_cost(costs[i].name, costs[i].unit, x[i], y[i]);
		if (!costs[i].of_gb)
			continue;
		snprintf(name, sizeof(name), "  by GB");
		print_cost(name, costs[i].unit, x[GB] > 0 ? x[i] / x[GB] : NAN,
			   y[GB] > 0 ? y[i] / y[GB] : NAN);
	}
}

/* ---- figures ---------------------------------------------------------------------- */

static double
bandwidth(const json_t *p)
{
	const json_t *v = json_object_get(p, "busbw_GBps");

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static json_t *
pairs_of(const json_t *a, const json_t *b)
{
	json_t *pairs = json_array(), *p, *q;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(a, "metrics"), "points"), i, p) {
		q = diag_match_point(b, p);
		if (q)
			json_array_append_new(pairs, json_pack("{s:O, s:O}", "a", p, "b", q));
	}
	return pairs;
}

static void
print_pairs(const json_t *pairs)
{
	const json_t *pair;
	bool iters = true;
	size_t i;

	printf("%-10s %13s %8s %10s %10s %7s\n", "", "size (B)", "iters", "A (GB/s)", "B (GB/s)",
	       "B/A");
	json_array_foreach(pairs, i, pair) {
		const json_t *a = json_object_get(pair, "a"), *b = json_object_get(pair, "b");
		double x = bandwidth(a), y = bandwidth(b);
		char count[24] = "-";

		if (json_is_integer(json_object_get(a, "iters")))
			snprintf(count, sizeof(count), "%.0f", job_real(a, "iters"));
		else
			iters = false;
		out_plain(stdout, job_text(a, "label"));
		printf("%*s %13.0f %8s %10.2f %10.2f %7.3f\n",
		       (int)(10 - strnlen(job_text(a, "label"), 10)), "", job_real(a, "size"), count,
		       x, y, y / x);
	}
	if (!iters)
		puts("iterations are not told by what the commands printed");
}

static void
print_run(const char *name, const json_t *diag)
{
	const json_t *words = json_object_get(diag, "command"), *word;
	char line[4096];
	size_t i, len;

	printf("%s: ", name);
	len = (size_t)snprintf(line, sizeof(line), "%s,", job_text(diag, "started"));
	json_array_foreach(words, i, word)
		if (len < sizeof(line))
			len += (size_t)snprintf(line + len, sizeof(line) - len, " %s",
						json_string_value(word));
	out_wrapped(stdout, line, 3);
	diag_print_nics(stdout, diag);
	fputc('\n', stdout);
}

/* ---- the command ------------------------------------------------------------------ */

/* Loads a folder, or its diag.json. */
static int
load(const char *path, json_t **out)
{
	char file[4096];
	struct stat st;
	json_error_t error;
	bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);

	snprintf(file, sizeof(file), "%s%s", path, folder ? "/diag.json" : "");
	*out = json_load_file(file, 0, &error);
	if (!*out)
		return tool_fail(TOOL_USAGE, NAME, "%s: %s", file, error.text);
	if (json_is_object(*out) &&
	    json_integer_value(json_object_get(*out, "schema")) == DIAG_SCHEMA &&
	    json_is_object(json_object_get(*out, "metrics")))
		return TOOL_OK;
	json_decref(*out);
	return tool_fail(TOOL_USAGE, NAME, "%s is no diag.json of schema %d", file, DIAG_SCHEMA);
}

static int
write_json(const json_t *a, const json_t *b, const json_t *pairs, const char *why,
	   const char *path)
{
	json_t *json = json_pack("{s:i, s:b, s:s?, s:O, s:O, s:O}", "schema", DIAG_SCHEMA,
				 "comparable", !*why, "why", *why ? why : NULL, "pairs", pairs,
				 "a", a, "b", b);

	return tool_json_put(NAME, json, path);
}

static int
compare(const json_t *a, const json_t *b, const char *path)
{
	json_t *pairs = pairs_of(a, b);
	int rc = TOOL_OK;
	char why[256];

	diag_match(a, b, why, sizeof(why));
	if (path)
		rc = write_json(a, b, pairs, why, path);
	if (!path || strcmp(path, "-") != 0) {
		print_run("A", a);
		print_run("B", b);
		if (!*why)
			print_pairs(pairs);
		fputs(*why ? "" : "\n", stdout);
		print_costs(a, b);
	}
	json_decref(pairs);
	if (*why)
		return tool_fail(rc ? rc : TOOL_FINDING, NAME, "not comparable: %s", why);
	return rc;
}

struct args {
	const char *json;
};
#define S struct args

int
diag_compare(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'j', "json", "FILE", "both runs and the pairs of their figures as JSON; - is "
		  "stdout", OPT_TEXT(json) },
	};
	static const struct opt_command cmd = {
		NAME, "[OPTIONS] A B",
		"Shows two runs of tcpx diag run side by side: for each NIC its node, interrupts, "
		"where they may fire and where they did, the CPUs that send and receive; bandwidths "
		"at equal size and iterations; and what moving a GB cost. A and B are folders, or "
		"their diag.json. Exit code 1: the figures cannot be compared, and why.",
		opts, ARRAY_LEN(opts), "  tcpx diag compare diagnostics/nccl_1 diagnostics/p2p_1\n",
		false, NULL,
	};
	struct args w = { NULL };
	struct opt_parser p;
	json_t *a, *b;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &w))
		return p.exit;
	if (argc - p.first_word != 2)
		return tool_usage(NAME, "two runs are compared, not %d", argc - p.first_word);
	rc = output_writable(NAME, "--json", w.json);
	rc = rc ? rc : load(argv[p.first_word], &a);
	if (rc)
		return rc;
	rc = load(argv[p.first_word + 1], &b);
	if (rc == TOOL_OK) {
		rc = compare(a, b, w.json);
		json_decref(b);
	}
	json_decref(a);
	return rc;
}
