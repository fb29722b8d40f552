/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a `tcpx diag` run as one JSON value, the content of diag.json. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/bindings.h"
#include "tcpx/tcpx.h"
#include "measure/diag/diag.h"
#include "tool/envlist.h"
#include "tool/json_file.h"
#include "tool/out_text.h"
#include "tool/tool.h"
#include "tune/plan/irq_count.h"

extern char **environ;

static json_t *
count_json(uint64_t v)
{
	return json_integer((json_int_t)v);
}

/* ---- bindings --------------------------------------------------------------------- */

/* The bindings of this run's threads; empty without any. */
static void
read_bindings(bool rx, struct tcpx_bindings *out)
{
	static const char *const names[2][2] = {
		{ "TCPX_TX_BINDINGS", "NCCL_GPUDIRECTTCPX_TX_BINDINGS" },
		{ "TCPX_RX_BINDINGS", "NCCL_GPUDIRECTTCPX_RX_BINDINGS" },
	};
	struct tcpx_binding_problems problems;
	const char *text = getenv(names[rx][0]);

	if (!text || !*text)
		text = getenv(names[rx][1]);
	*out = (struct tcpx_bindings){ .entry = NULL };
	if (text && tcpx_bindings_scan(text, out, &problems) < 0)
		*out = (struct tcpx_bindings){ .entry = NULL };
}

static json_t *
binding_json(const struct tcpx_bindings *b, const char *nic)
{
	const struct tcpx_cpuset *cpus = tcpx_bindings_of(b, nic);

	return cpus ? tool_json_cpus(cpus) : json_null();
}

/* ---- NICs ------------------------------------------------------------------------- */

/* All CPUs on which the vectors of a NIC may fire. */
static json_t *
affinity_json(const struct diag_side *side, const char *name)
{
	int place = diag_nic_place(side, name);
	struct tcpx_cpuset all;
	bool known = false;

	tcpx_cpuset_init(&all);
	for (unsigned i = 0; place >= 0 && i < side->topo->nics[place].vector_count; i++) {
		const struct tcpx_nic_vector *v = &side->topo->nics[place].vectors[i];

		if (v->requested.why)
			continue;
		tcpx_cpuset_or(&all, &v->requested.cpus);
		known = true;
	}
	return known ? tool_json_cpus(&all) : json_null();
}

/* The CPUs on which they fired during the run. */
static json_t *
observed_json(const struct diag *d, const char *name)
{
	struct tcpx_cpuset seen;

	if (!d->diffed)
		return json_null();
	tcpx_cpuset_init(&seen);
	for (unsigned i = 0; i < d->diff.irq_rows; i++) {
		const struct tcpx_irqdiff_row *row = &d->diff.row[i];

		if (!row->vector || strcmp(row->of->nics[row->vector->nic].name, name) != 0)
			continue;
		for (unsigned k = 0; k < d->diff.cpu_count; k++)
			if (row->delta[k])
				tcpx_cpuset_add(&seen, (int)d->diff.cpu[k]);
	}
	return tool_json_cpus(&seen);
}

static json_t *
counters_json(const struct diag *d, const char *name)
{
	int place = diag_nic_place(&d->after, name);
	json_t *json = json_object();

	for (unsigned i = 0; place >= 0 && i < d->after.stats[place].n; i++) {
		const char *counter = d->after.stats[place].at[i].name;
		uint64_t rise = diag_rise(d, name, counter);

		/* counters that stood still are left out, but for this one */
		if (rise || !strcmp(counter, "rx_devmem_pkts"))
			json_object_set_new(json, counter, count_json(rise));
	}
	return json;
}

static void
add_irqs(const struct diag *d, json_t *nic, const char *name)
{
	unsigned count;
	struct irq_sum *sums = d->diffed ? irq_sums(&d->diff, &d->after.snap, &count) : NULL;

	for (unsigned i = 0; sums && i < count; i++) {
		if (!sums[i].name || strcmp(sums[i].name, name) != 0)
			continue;
		json_object_set_new(nic, "irqs", count_json(sums[i].total));
		json_object_set_new(nic, "irqs_on_node", count_json(sums[i].on_node));
		json_object_set_new(nic, "vectors_moved", count_json(sums[i].moved));
	}
	free(sums);
}

static json_t *
nic_json(const struct diag *d, const struct tcpx_topo_nic *t, const struct tcpx_bindings *tx,
	 const struct tcpx_bindings *rx)
{
	const char *name = t->nic->ifname;
	int place = diag_nic_place(&d->after, name);
	const char *why = place < 0 ? "the NIC is gone" : d->after.stats[place].why;
	json_t *nic = json_pack(
		"{s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:s?}", "name",
		out_json(name), "driver", out_json(t->nic->driver), "node",
		t->nic->place.numa < 0 ? json_null() : json_integer(t->nic->place.numa), "vectors",
		(int)t->vector_count, "default_affinity", affinity_json(&d->before, name),
		"affinity_after", affinity_json(&d->after, name), "observed_cpus",
		observed_json(d, name), "tx_bindings", binding_json(tx, name), "rx_bindings",
		binding_json(rx, name), "tx_bytes", (json_int_t)diag_rise(d, name, "tx_bytes"),
		"rx_bytes", (json_int_t)diag_rise(d, name, "rx_bytes"), "counters",
		counters_json(d, name), "driver_counters_why", why);

	add_irqs(d, nic, name);
	return nic;
}

static json_t *
nics_json(const struct diag *d, const struct tcpx_bindings *tx, const struct tcpx_bindings *rx)
{
	json_t *nics = json_array();

	for (unsigned i = 0; i < d->before.topo->nic_count; i++)
		if (diag_is_shown(d, &d->before.topo->nics[i]))
			json_array_append_new(nics, nic_json(d, &d->before.topo->nics[i], tx, rx));
	return nics;
}

/* ---- figures ---------------------------------------------------------------------- */

static json_t *
real_or_null(double v)
{
	return isnan(v) ? json_null() : json_real(v);
}

static json_t *
count_or_null(uint64_t v)
{
	return v ? json_integer((json_int_t)v) : json_null();
}

static json_t *
metrics_json(const struct diag_metrics *m)
{
	json_t *points = json_array();

	for (unsigned i = 0; i < m->n; i++) {
		const struct diag_point *p = &m->at[i];

		json_array_append_new(points, json_pack(
			"{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "label", out_json(p->label),
			"size", count_or_null(p->size), "iters", count_or_null(p->iters), "time_us",
			real_or_null(p->time_us), "algbw_GBps", real_or_null(p->algbw_GBps),
			"busbw_GBps", real_or_null(p->busbw_GBps), "wrong",
			real_or_null(p->wrong)));
	}
	return json_pack("{s:s?, s:o, s:o, s:o, s:o}", "kind", diag_kind_name(m->kind), "operation",
			 *m->operation ? out_json(m->operation)
			 : m->kind == DIAG_P2P ? json_string("p2p") : json_null(), "avg_busbw_GBps",
			 real_or_null(m->avg_busbw_GBps), "window", count_or_null(m->window),
			 "points", points);
}

/* ---- the rest --------------------------------------------------------------------- */

static void
add_variable(void *arg, const char *name, const char *value)
{
	char *clean = strdup(name);

	if (clean)
		json_object_set_new(arg, clean, out_json(value));
	free(clean);
}

static json_t *
command_json(char *const *words)
{
	json_t *json = json_array();

	for (; *words; words++)
		json_array_append_new(json, out_json(*words));
	return json;
}

static json_t *
usage_json(const struct rusage *u)
{
	return json_pack("{s:f, s:f, s:I, s:I, s:I}",
			 "user_s", (double)u->ru_utime.tv_sec + (double)u->ru_utime.tv_usec / 1e6,
			 "system_s", (double)u->ru_stime.tv_sec + (double)u->ru_stime.tv_usec / 1e6,
			 "voluntary", (json_int_t)u->ru_nvcsw, "involuntary",
			 (json_int_t)u->ru_nivcsw, "largest_kib", (json_int_t)u->ru_maxrss);
}

/* The time of each CPU, of all processes; nice counts as user, irq as system. */
static json_t *
cpus_json(const struct tcpx_irqdiff *diff)
{
	double hz = (double)sysconf(_SC_CLK_TCK);
	json_t *all = json_array();

	for (unsigned i = 0; i < diff->time_count; i++) {
		const uint64_t *t = diff->times[i].ticks;
		uint64_t user = t[TCPX_CPU_USER] + t[TCPX_CPU_NICE];
		uint64_t system = t[TCPX_CPU_SYSTEM] + t[TCPX_CPU_IRQ];
		uint64_t idle = t[TCPX_CPU_IDLE] + t[TCPX_CPU_IOWAIT];
		uint64_t busy = user + system + t[TCPX_CPU_SOFTIRQ];
		uint64_t total = busy + idle + t[TCPX_CPU_STEAL];

		if (!total)
			continue;
		json_array_append_new(all, json_pack(
			"{s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "cpu", (int)diff->times[i].cpu,
			"user_s", (double)user / hz, "system_s", (double)system / hz, "softirq_s",
			(double)t[TCPX_CPU_SOFTIRQ] / hz, "idle_s", (double)idle / hz, "steal_s",
			(double)t[TCPX_CPU_STEAL] / hz, "busy", (double)busy / (double)total));
	}
	return all;
}

static json_t *
manager_json(const struct diag *d)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < d->process_count; i++)
		json_array_append_new(list, json_pack(
			"{s:I, s:o, s:o}", "pid", (json_int_t)d->process[i].pid, "name",
			out_json(d->process[i].name), "command",
			out_json(d->process[i].command)));
	return json_pack("{s:o, s:s?}", "processes", list, "journal_why",
			 *d->journal_why ? d->journal_why : NULL);
}

static void
add_machine(const struct diag *d, json_t *root)
{
	struct utsname uts;
	char host[72] = "";

	gethostname(host, sizeof(host) - 1);
	json_object_set_new(root, "host", out_json(host));
	json_object_set_new(root, "kernel", out_json(
		d->root ? d->before.topo->kernel : uname(&uts) == 0 ? uts.release : ""));
	json_object_set_new(root, "boot_id", out_json(d->before.topo->boot_id));
	json_object_set_new(root, "cpu_count", json_integer(d->before.topo->facts.cpus.count));
}

json_t *
diag_json(const struct diag *d)
{
	json_t *root = json_object(), *env = json_object();
	struct tcpx_bindings tx, rx;

	if (!root || !env)
		return NULL;
	read_bindings(false, &tx);
	read_bindings(true, &rx);
	json_object_set_new(root, "schema", json_integer(DIAG_SCHEMA));
	json_object_set_new(root, "version", json_string(tcpx_version()));
	add_machine(d, root);
	json_object_set_new(root, "started", json_string(d->started));
	json_object_set_new(root, "seconds",
			    json_real((double)(d->child.end_ns - d->child.begin_ns) / 1e9));
	json_object_set_new(root, "command", command_json(d->words));
	json_object_set_new(root, "exit_code", json_integer(d->child.code));
	json_object_set_new(root, "signal",
			    d->child.signal ? json_integer(d->child.signal) : json_null());
	json_object_set_new(root, "metrics", metrics_json(&d->metrics));
	json_object_set_new(root, "nics", nics_json(d, &tx, &rx));
	json_object_set_new(root, "usage", usage_json(&d->child.usage));
	json_object_set_new(root, "rxdm", manager_json(d));
	json_object_set_new(root, "cpus", cpus_json(&d->diff));
	json_object_set_new(root, "irq", d->diffed ? irq_diff_json(&d->diff, &d->after.snap)
						   : json_null());
	envlist_each(environ, add_variable, env);
	json_object_set_new(root, "environment", env);
	tcpx_bindings_fini(&tx);
	tcpx_bindings_fini(&rx);
	return root;
}
