/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of a recorder, its times, and its cost. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tune/record/sample_part.h"

const char *
tcpx_sample_metric_name(enum tcpx_sample_metric metric)
{
	static const char *const names[TCPX_SAMPLE_METRICS] = {
		[TCPX_SAMPLE_USER] = "user_us", [TCPX_SAMPLE_SYSTEM] = "system_us",
		[TCPX_SAMPLE_SOFTIRQ] = "softirq_us", [TCPX_SAMPLE_IDLE] = "idle_us",
		[TCPX_SAMPLE_STEAL] = "steal_us", [TCPX_SAMPLE_COUNT] = "count",
		[TCPX_SAMPLE_VOLUNTARY] = "voluntary", [TCPX_SAMPLE_INVOLUNTARY] = "involuntary",
		[TCPX_SAMPLE_INSTRUCTIONS] = "instructions", [TCPX_SAMPLE_CYCLES] = "cycles",
		[TCPX_SAMPLE_LLC_MISSES] = "llc_misses", [TCPX_SAMPLE_OWN_CPU] = "cpu_us",
		[TCPX_SAMPLE_LATE] = "late_us",
	};

	return (unsigned)metric < TCPX_SAMPLE_METRICS ? names[metric] : "?";
}

const struct tcpx_sample_object *
tcpx_sampler_object(const struct tcpx_sampler *s, unsigned object)
{
	return object < s->objects ? &s->object[object] : NULL;
}

void
tcpx_sampler_cost(const struct tcpx_sampler *s, struct tcpx_sample_cost *cost)
{
	*cost = s->cost;
}

/* ---- samples ---------------------------------------------------------------------- */

static uint64_t
own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void
look_at_pmu(struct tcpx_sampler *s)
{
	for (unsigned i = 0; s->pmu && i < TCPX_PMU_EVENTS; i++) {
		struct tcpx_maybe count = tcpx_pmu_read(s->pmu, i);
		uint64_t now = (uint64_t)count.value;

		/* scaled counts may fall a little */
		if (count.why || now <= s->pmu_last[i])
			continue;
		tcpx_sampler_put(s, SAMPLE_OBJECT_PMU, -1, TCPX_SAMPLE_INSTRUCTIONS + i,
				 now - s->pmu_last[i]);
		s->pmu_last[i] = now;
	}
}

/* The delay of the sample, and the time of the next: on the grid of the first look. */
static uint64_t
keep_time(struct tcpx_sampler *s, uint64_t now_ns)
{
	uint64_t late, steps;

	if (now_ns < s->due_ns)
		return 0; /* an extra one */
	late = now_ns - s->due_ns;
	steps = late / s->interval_ns;
	s->cost.late += late > s->interval_ns / 10;
	s->cost.missed += (unsigned)steps;
	s->due_ns += (steps + 1) * s->interval_ns;
	return late;
}

static void
look(struct tcpx_sampler *s, uint64_t now_ns)
{
	uint64_t from = own_cpu_ns(), late = 0, cost;

	if (s->sample)
		late = keep_time(s, now_ns);
	tcpx_sampler_push_out(s);
	s->time_ns[s->sample % SAMPLE_TIMES] = now_ns - s->begin_ns;
	tcpx_sample_cpus_look(s);
	tcpx_sample_irqs_look(s);
	tcpx_sample_threads_look(s, now_ns);
	look_at_pmu(s);
	cost = own_cpu_ns() - from;
	tcpx_sampler_put(s, SAMPLE_OBJECT_SAMPLER, -1, TCPX_SAMPLE_LATE, late / 1000);
	tcpx_sampler_put(s, SAMPLE_OBJECT_SAMPLER, -1, TCPX_SAMPLE_OWN_CPU, cost / 1000);
	if (s->sample) {
		s->cost.samples++;
		s->cost.cpu_ns += cost;
		if (cost > s->cost.cpu_max_ns)
			s->cost.cpu_max_ns = cost;
	}
	s->sample++;
}

uint64_t
tcpx_sampler_due(const struct tcpx_sampler *s)
{
	return s->due_ns;
}

void
tcpx_sampler_take(struct tcpx_sampler *s, uint64_t now_ns)
{
	look(s, now_ns);
}

/* ---- making one ------------------------------------------------------------------- */

static unsigned
count_vectors(const struct tcpx_topo *topo)
{
	unsigned n = 0;

	for (unsigned i = 0; topo && i < topo->nic_count; i++)
		n += topo->nics[i].vector_count;
	return n;
}

static int
make(struct tcpx_sampler *s, const struct tcpx_sample_options *o)
{
	static const struct tcpx_sample_object fixed[SAMPLE_OBJECT_FIRST] = {
		[SAMPLE_OBJECT_CPU] = { .kind = TCPX_SAMPLE_IS_CPU, .name = "cpu" },
		[SAMPLE_OBJECT_SAMPLER] = { .kind = TCPX_SAMPLE_IS_SAMPLER, .name = "sampler" },
		[SAMPLE_OBJECT_PMU] = { .kind = TCPX_SAMPLE_IS_PMU, .name = "pmu" },
	};
	int rc;

	s->threads_from = SAMPLE_OBJECT_FIRST + count_vectors(o->topo);
	s->objects = s->threads_from;
	s->objects_max = s->threads_from + TCPX_SAMPLE_THREADS;
	if (s->objects_max > UINT16_MAX)
		return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "%u vectors: a recorder knows %u",
				 count_vectors(o->topo), UINT16_MAX - TCPX_SAMPLE_THREADS);
	/* calloc() leaves unused memory untouched */
	s->ring = calloc(s->cells, sizeof(*s->ring));
	s->time_ns = calloc(SAMPLE_TIMES, sizeof(*s->time_ns));
	s->object = calloc(s->objects_max, sizeof(*s->object));
	if (!s->ring || !s->time_ns || !s->object)
		return -ENOMEM;
	memcpy(s->object, fixed, sizeof(fixed));
	rc = tcpx_sample_cpus_init(s);
	if (rc == 0)
		rc = tcpx_sample_irqs_init(s, o->topo);
	if (rc == 0)
		rc = tcpx_sample_threads_init(s, o->pids, o->pid_count);
	return rc;
}

int
tcpx_sampler_new(const struct tcpx_sample_options *o, uint64_t now_ns, struct tcpx_sampler **out)
{
	struct tcpx_sampler *s;
	int rc;

	if (o->interval_ns == 0)
		return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "an interval of 0 between samples");
	s = calloc(1, sizeof(*s));
	if (!s)
		return tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "a recorder");
	s->cpus.fd = -1;
	snprintf(s->root, sizeof(s->root), "%s", o->root ? o->root : "/");
	snprintf(s->thread_root, sizeof(s->thread_root), "%s",
		 o->thread_root ? o->thread_root : "/");
	s->interval_ns = o->interval_ns;
	s->begin_ns = now_ns;
	s->due_ns = now_ns + o->interval_ns;
	s->cells = o->cells ? o->cells : TCPX_SAMPLE_CELLS;
	s->pmu = o->pmu;
	rc = make(s, o);
	if (rc < 0) {
		tcpx_sampler_free(s);
		return rc == -ENOMEM ? tcpx_fail(TCPX_SUB_HOST, rc, "memory of a recorder") : rc;
	}
	look(s, now_ns);
	*out = s;
	return 0;
}

void
tcpx_sampler_free(struct tcpx_sampler *s)
{
	if (!s)
		return;
	tcpx_sample_cpus_fini(s);
	tcpx_sample_irqs_fini(s);
	tcpx_sample_threads_fini(s);
	free(s->ring);
	free(s->time_ns);
	free(s->object);
	free(s);
}
