/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a `tcpx diag` run: all of them as CSV, and their sums for diag.json. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "measure/diag/diag.h"
#include "tune/info/machine.h"
#include "tool/out_text.h"
#include "tool/json_file.h"
#include "tool/tool.h"

/* ---- CSV -------------------------------------------------------------------------- */

struct csv {
	const struct tcpx_sampler *s;
	FILE *f;
};

static void
print_object(FILE *f, const struct tcpx_sample_object *o)
{
	char text[160];

	if (o->kind == TCPX_SAMPLE_IS_IRQ)
		snprintf(text, sizeof(text), "irq:%ld:%s", o->id, o->name);
	else if (o->kind == TCPX_SAMPLE_IS_THREAD)
		snprintf(text, sizeof(text), "thread:%ld/%ld:%s", o->pid, o->id, o->name);
	else
		snprintf(text, sizeof(text), "%s", o->name);
	out_csv_text(f, text);
}

static void
print_cell(void *arg, const struct tcpx_sample *sample)
{
	struct csv *csv = arg;

	fprintf(csv->f, "%.6f,", (double)sample->ns / 1e9);
	print_object(csv->f, tcpx_sampler_object(csv->s, sample->object));
	if (sample->cpu >= 0)
		fprintf(csv->f, ",%d,", sample->cpu);
	else
		fputs(",,", csv->f);
	fprintf(csv->f, "%s,%" PRIu64 "\n", tcpx_sample_metric_name(sample->metric),
		sample->value);
}

int
diag_samples_write(const struct tcpx_sampler *s, FILE *f)
{
	struct csv csv = { s, f };

	fputs("time,object,cpu,metric,value\n", f);
	tcpx_sampler_each(s, print_cell, &csv);
	return ferror(f) ? -1 : 0;
}

/* ---- sums ------------------------------------------------------------------------- */

struct thread_sum {
	uint64_t metric[TCPX_SAMPLE_METRICS], in_pool;
	struct tcpx_cpuset ran_on; /* CPUs on which it used time */
};

struct cpu_sum {
	uint64_t metric[TCPX_SAMPLE_STEAL + 1];
	uint64_t now_ns, now_busy; /* of the sample being summed         */
	uint64_t busy_max;         /* most of one sample                 */
};

struct sums {
	const struct tcpx_cpuset *pool;
	const struct tcpx_sampler *s;
	struct thread_sum **thread; /* by object, where there is one */
	unsigned objects;
	struct cpu_sum *cpu;
};

static bool
is_time(enum tcpx_sample_metric metric)
{
	return metric == TCPX_SAMPLE_USER || metric == TCPX_SAMPLE_SYSTEM;
}

static void
add_cpu(struct cpu_sum *c, const struct tcpx_sample *sample)
{
	if (sample->metric > TCPX_SAMPLE_STEAL)
		return;
	c->metric[sample->metric] += sample->value;
	if (c->now_ns != sample->ns) {
		c->now_ns = sample->ns;
		c->now_busy = 0;
	}
	if (sample->metric != TCPX_SAMPLE_IDLE && sample->metric != TCPX_SAMPLE_STEAL)
		c->now_busy += sample->value;
	if (c->now_busy > c->busy_max)
		c->busy_max = c->now_busy;
}

static void
add_thread(struct sums *sums, const struct tcpx_sample *sample)
{
	struct thread_sum *t = sums->thread[sample->object];

	if (!t)
		t = sums->thread[sample->object] = calloc(1, sizeof(*t));
	if (!t)
		return;
	t->metric[sample->metric] += sample->value;
	if (!is_time(sample->metric))
		return;
	tcpx_cpuset_add(&t->ran_on, sample->cpu);
	if (tcpx_cpuset_has(sums->pool, sample->cpu))
		t->in_pool += sample->value;
}

static void
add(void *arg, const struct tcpx_sample *sample)
{
	struct sums *sums = arg;
	const struct tcpx_sample_object *o = tcpx_sampler_object(sums->s, sample->object);

	if (o->kind == TCPX_SAMPLE_IS_CPU)
		add_cpu(&sums->cpu[sample->cpu], sample);
	else if (o->kind == TCPX_SAMPLE_IS_THREAD)
		add_thread(sums, sample);
}

/* ---- JSON ------------------------------------------------------------------------- */

static json_t *
seconds(uint64_t us)
{
	return json_real((double)us / 1e6);
}

static json_t *
cpus_json(const struct sums *sums, uint64_t interval_ns)
{
	json_t *all = json_array();

	for (int cpu = 0; cpu < TCPX_CPUS_MAX; cpu++) {
		const struct cpu_sum *c = &sums->cpu[cpu];
		uint64_t total = 0, busy;
		json_t *one;

		for (unsigned m = 0; m <= TCPX_SAMPLE_STEAL; m++)
			total += c->metric[m];
		if (!total)
			continue;
		busy = total - c->metric[TCPX_SAMPLE_IDLE] - c->metric[TCPX_SAMPLE_STEAL];
		one = json_object();
		json_object_set_new(one, "cpu", json_integer(cpu));
		for (unsigned m = 0; m <= TCPX_SAMPLE_STEAL; m++) {
			char key[32];

			/* "user_us": people read seconds */
			snprintf(key, sizeof(key), "%s", tcpx_sample_metric_name(m));
			key[strlen(key) - 2] = '\0';
			strcat(key, "s");
			json_object_set_new(one, key, seconds(c->metric[m]));
		}
		json_object_set_new(one, "busy", json_real((double)busy / (double)total));
		json_object_set_new(one, "busy_max", json_real((double)c->busy_max * 1e3 /
							       (double)interval_ns));
		json_array_append_new(all, one);
	}
	return all;
}

static json_t *
thread_json(const struct tcpx_sample_object *o, const struct thread_sum *t, bool pool)
{
	uint64_t time = t->metric[TCPX_SAMPLE_USER] + t->metric[TCPX_SAMPLE_SYSTEM];

	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:o, s:o}", "pid",
			 (json_int_t)o->pid, "tid", (json_int_t)o->id, "name",
			 machine_json_text(o->name), "user_s",
			 seconds(t->metric[TCPX_SAMPLE_USER]), "system_s",
			 seconds(t->metric[TCPX_SAMPLE_SYSTEM]), "voluntary",
			 (json_int_t)t->metric[TCPX_SAMPLE_VOLUNTARY], "involuntary",
			 (json_int_t)t->metric[TCPX_SAMPLE_INVOLUNTARY], "ran_on",
			 tool_json_cpus(&t->ran_on), "in_pool", pool && time
			 ? json_real((double)t->in_pool / (double)time) : json_null());
}

static json_t *
sampler_json(const struct diag *d)
{
	struct tcpx_sample_cost c;

	tcpx_sampler_cost(d->sampler, &c);
	return json_pack("{s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:s?, s:s?, s:s?, s:s?, "
			 "s:s?}", "interval_ms", (double)d->interval_ns / 1e6, "samples",
			 (json_int_t)c.samples, "late", (json_int_t)c.late, "missed",
			 (json_int_t)c.missed, "lost", (json_int_t)c.lost, "threads_left_out",
			 (json_int_t)c.threads_left_out, "processes_left_out",
			 (json_int_t)c.pids_left_out, "cpu_s", (double)c.cpu_ns / 1e9,
			 "cpu_ms_a_sample", c.samples ? (double)c.cpu_ns / 1e6 / c.samples : 0.0,
			 "cpu_ms_max", (double)c.cpu_max_ns / 1e6, "irq_source", c.irq_source,
			 "irq_why", c.irq_why, "cpu_why", c.cpu_why, "switches_why",
			 c.switches_why, "children_why", c.children_why);
}

static unsigned
count_objects(const struct tcpx_sampler *s)
{
	unsigned n = 0;

	while (tcpx_sampler_object(s, n))
		n++;
	return n;
}

void
diag_samples_json(const struct diag *d, const struct tcpx_cpuset *pool, json_t *root)
{
	struct sums sums = { .pool = pool, .s = d->sampler };
	json_t *threads = json_array();

	if (d->sampler) {
		sums.objects = count_objects(d->sampler);
		sums.thread = calloc(sums.objects, sizeof(struct thread_sum *));
		sums.cpu = calloc(TCPX_CPUS_MAX, sizeof(*sums.cpu));
	}
	if (sums.thread && sums.cpu) {
		tcpx_sampler_each(d->sampler, add, &sums);
		json_object_set_new(root, "cpus", cpus_json(&sums, d->interval_ns));
		for (unsigned i = 0; i < sums.objects; i++)
			if (sums.thread[i])
				json_array_append_new(threads, thread_json(
					tcpx_sampler_object(d->sampler, i), sums.thread[i],
					!tcpx_cpuset_empty(pool)));
		json_object_set_new(root, "sampler", sampler_json(d));
	}
	json_object_set_new(root, "threads", threads);
	for (unsigned i = 0; sums.thread && i < sums.objects; i++)
		free(sums.thread[i]);
	free(sums.thread);
	free(sums.cpu);
}
