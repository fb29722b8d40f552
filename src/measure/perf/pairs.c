/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our transfers and plain sockets in turn: ours first in even pairs, second in odd ones, so
 * that a drift of the machine affects both alike. The engine is idle while the sockets run,
 * and the other way round.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/perf/baseline.h"
#include "measure/perf/load_check.h"
#include "measure/perf/load_measure.h"
#include "measure/perf/figures.h"
#include "measure/job/stop.h"
#include "tool/tool.h"

enum { CALIBRATE_NS = 60 * 1000 * 1000, CALIBRATE_TURNS = 2, LAT_ROUNDS_MAX = 1 << 20 };

struct pairs {
	struct load *load;
	struct baseline *raw;
	struct mem own[2];         /* page-locked, where ours is a GPU's           */
	struct load_side side;     /* their memory                                 */
	struct layout flat;        /* of a transfer by sockets: one piece          */
	uint64_t slots, at;        /* of their ring; where the next run begins     */
	uint64_t seed;             /* of its patterns                              */
	uint64_t raw_iters, raw_compared, raw_wrong; /* transfers, bytes           */
	uint64_t iters;            /* of one run of ours                           */
	uint64_t rounds;           /* of one run of the sockets                    */
	struct load_stats *ours;   /* of one run                                   */
	struct load_stats *total;  /* of all                                       */
	struct tcpx_hist raw_hist; /* --lat: half round trips, all runs            */
	double raw_us;             /* of one transfer, last run                    */
	uint64_t ours_ns, raw_ns;  /* of one round, last run                       */
	double raw_cpu_s, raw_bytes;
	char congestion[BASELINE_NAMES]; /* of the sockets that send               */
};

/* The address of NIC @nic in a list of {"name", "addr"}; the first one's if it is not there. */
static const char *
server_addr(const json_t *nics, const char *nic)
{
	for (size_t i = 0; i < json_array_size(nics); i++)
		if (!strcmp(job_text(json_array_get(nics, i), "name"), nic))
			return job_text(json_array_get(nics, i), "addr");
	return job_text(json_array_get(nics, 0), "addr");
}

static void
client_addr(tcpx_engine *engine, const char *nic, char *out, size_t cap)
{
	struct tcpx_nic_info info[64];
	size_t n = ARRAY_LEN(info);

	snprintf(out, cap, "%s", "");
	if (tcpx_query_nics(engine, info, sizeof(info[0]), &n))
		return;
	for (size_t i = 0; i < n && i < ARRAY_LEN(info); i++)
		if (!strcmp(info[i].name, nic))
			snprintf(out, cap, "%s", info[i].addr);
}

/* One connection for each channel that carries data of this job. */
static void
plan_conns(struct perf *p, const struct usage *u, struct baseline_plan *plan)
{
	bool seen[2][USAGE_CHANNELS] = { { false } };

	for (size_t i = 0; i < u->channels && plan->conns < BASELINE_CONNS; i++) {
		const struct tcpx_channel_info *c = &u->channel[i];
		struct baseline_conn *to = &plan->conn[plan->conns];
		bool out = c->sending;

		/* a second session with the same peer lists the same channels again */
		if (!c->up || c->index >= USAGE_CHANNELS || seen[out][c->index] ||
		    !(out ? job_has_out(&p->job) : job_has_in(&p->job)) ||
		    (plan->echo && plan->conns))
			continue;
		seen[out][c->index] = true;
		to->out = out;
		client_addr(p->engine, c->nic, to->from, sizeof(to->from));
		snprintf(to->to, sizeof(to->to), "%s",
			 server_addr(json_object_get(p->server, "nics"), c->peer_nic));
		plan->conns++;
	}
}

/* The memory of the sockets: ours, or page-locked memory beside a GPU's. */
static int
open_ring(struct pairs *s, struct baseline_plan *plan)
{
	struct perf *p = s->load->perf;
	uint64_t per_round = p->job.lat ? 1 : p->job.depth;
	int rc = layout_init(&s->flat, p->at.size, 1, 0);

	s->slots = s->load->ring / per_round * per_round;
	s->side = (struct load_side){ NULL, NULL, &s->flat, &s->flat };
	plan->slots = s->slots;
	plan->span = s->flat.span;
	if (!rc)
		rc = mem_for_sockets(&p->out, plan->slots * plan->span, &s->own[0], &s->side.out);
	if (!rc)
		rc = mem_for_sockets(&p->in, plan->slots * plan->span, &s->own[1], &s->side.in);
	plan->out_mem = mem_at(s->side.out);
	plan->in_mem = mem_at(s->side.in);
	if (plan->echo && !plan->out_mem) /* READ: any memory of the size will do */
		plan->out_mem = plan->in_mem;
	return rc;
}

static int
open_raw(struct pairs *s)
{
	struct perf *p = s->load->perf;
	struct baseline_plan *plan = calloc(1, sizeof(*plan));
	struct usage *u = calloc(1, sizeof(*u));
	json_t *conns = json_array(), *reply = NULL;
	uint64_t port = 0;
	int rc = -ENOMEM;

	if (!plan || !u)
		goto free_all;
	*plan = (struct baseline_plan){
		.echo = p->job.lat, .out = &s->flat, .in = &s->flat,
		.depth = p->job.depth,
		.token = tcpx_clock_now(&tcpx_clock_system) & INT64_MAX };
	rc = open_ring(s, plan);
	if (rc)
		goto free_all;
	usage_read(p->engine, p->peer_name, u);
	plan_conns(p, u, plan);
	if (!plan->conns) {
		rc = tool_fail(TOOL_FINDING, "tcpx perf", "no open channel to compare with");
		goto free_all;
	}
	snprintf(plan->congestion, sizeof(plan->congestion), "%s", usage_congestion(u));
	plan->threads = (unsigned)(u->threads < 1 || plan->echo ? 1 : u->threads);
	if (plan->threads > plan->conns)
		plan->threads = (unsigned)plan->conns;
	if (plan->threads > BASELINE_THREADS)
		plan->threads = BASELINE_THREADS;
	for (size_t i = 0; i < plan->conns; i++)
		json_array_append_new(conns, json_integer(plan->conn[i].out));
	rc = perf_ask(p, "raw",
		      json_pack("{s:b, s:i, s:I, s:I, s:O}", "echo", plan->echo, "threads",
				(int)plan->threads, "token", (json_int_t)plan->token, "slots",
				(json_int_t)plan->slots, "conns", conns), "raw_ok", &reply);
	if (!rc)
		rc = job_number(reply, "port", 1, UINT16_MAX, &port);
	if (!rc) /* pages for all of it */
		rc = load_arm(p, &s->side, (struct job_slots){ 0, s->slots, true }, &s->seed);
	if (!rc)
		rc = baseline_connect(plan, (uint16_t)port, &s->raw);
free_all:
	json_decref(reply);
	json_decref(conns);
	free(u);
	free(plan);
	return rc;
}

/* All connections stand: a round has been run. The server also says what its sockets use. */
static int
set_call(struct pairs *s, uint64_t bytes)
{
	char names[BASELINE_NAMES];
	json_t *reply;
	int rc;

	baseline_set_call(s->raw, bytes);
	rc = perf_ask(s->load->perf, "raw_call", json_pack("{s:I}", "bytes", (json_int_t)bytes),
		      "raw_called", &reply);
	if (rc)
		return rc;
	usage_add_name(s->congestion, sizeof(s->congestion), baseline_congestion(s->raw, names));
	usage_add_name(s->congestion, sizeof(s->congestion), job_text(reply, "congestion"));
	json_decref(reply);
	return 0;
}

/* Rounds that fill about @ns, from one that has been timed. */
static uint64_t
rounds_for(uint64_t ns, uint64_t one_ns)
{
	return one_ns && one_ns < ns ? (ns + one_ns - 1) / one_ns : 1;
}

/* From s->at on, round the ring. */
static int
run_rounds(struct pairs *s, uint64_t rounds, uint64_t *ns)
{
	int rc = baseline_run(s->raw, rounds, ns);

	s->at = (s->at + rounds * s->load->perf->job.depth) % s->slots;
	return rc;
}

/* Chooses the size of calls and the rounds of a run. */
static int
calibrate(struct pairs *s)
{
	static const uint64_t calls[] = { 256 << 10, 512 << 10, 1 << 20 };
	uint64_t best[ARRAY_LEN(calls)], ns, choice = 0;
	int rc = run_rounds(s, 2, &ns); /* warm-up */

	if (!rc)
		rc = run_rounds(s, 2, &ns);
	ns /= 2;
	for (int turn = 0; !rc && turn < CALIBRATE_TURNS; turn++) {
		uint64_t rounds = rounds_for(CALIBRATE_NS, ns);

		for (size_t i = 0; !rc && i < ARRAY_LEN(calls); i++) {
			uint64_t took;

			rc = set_call(s, calls[i]);
			if (!rc)
				rc = run_rounds(s, rounds, &took);
			if (!rc && (!turn || took / rounds < best[i]))
				best[i] = took / rounds;
		}
	}
	if (rc)
		return rc;
	for (size_t i = 1; i < ARRAY_LEN(calls); i++)
		if (best[i] < best[choice])
			choice = i;
	s->rounds = rounds_for(PERF_RUN_NS, best[choice]);
	return set_call(s, calls[choice]);
}

/* CPU seconds so far of both sides. */
static int
both_cpu_s(struct perf *p, double *cpu_s)
{
	struct usage *u = calloc(1, sizeof(*u));
	json_t *reply;
	int rc = u ? perf_ask(p, "mark", NULL, "marked", &reply) : -ENOMEM;

	if (!rc) {
		usage_read_process(u);
		*cpu_s = u->cpu_s + job_real(reply, "cpu_s");
		json_decref(reply);
	}
	free(u);
	return rc;
}

/* This many round trips on one connection, blocking. */
static int
run_echo(struct pairs *s, uint64_t rounds, struct tcpx_hist *hist)
{
	struct perf *p = s->load->perf;
	uint64_t part = p->job.op == JOB_READ ? 1 : 2, start;
	struct placed here = { 0 };
	int rc = p->sides.placed ? thread_place(&here, p->sides.client) : 0;

	for (uint64_t i = 0; !rc && i < rounds; i++) {
		start = tcpx_clock_now(&tcpx_clock_system);
		rc = baseline_echo(s->raw, s->at);
		tcpx_hist_add(hist, (tcpx_clock_now(&tcpx_clock_system) - start) / part);
		s->at = (s->at + 1) % s->slots;
	}
	thread_release(&here);
	return rc;
}

/* One run of the sockets. */
struct raw_run {
	struct tcpx_hist hist;  /* --lat                                            */
	uint64_t ns;            /* else: the time of its rounds                     */
	uint64_t wall_ns;
	double cpu_s;
};

/* So many rounds, with what they cost. */
static int
time_rounds(struct pairs *s, uint64_t rounds, struct raw_run *r)
{
	struct perf *p = s->load->perf;
	double before = 0, after = 0;
	uint64_t ns = 0, start;
	int rc = both_cpu_s(p, &before);

	if (rc)
		return rc;
	start = tcpx_clock_now(&tcpx_clock_system);
	rc = p->job.lat ? run_echo(s, rounds, &r->hist) : run_rounds(s, rounds, &ns);
	r->wall_ns += tcpx_clock_now(&tcpx_clock_system) - start;
	r->ns += ns;
	if (!rc)
		rc = both_cpu_s(p, &after);
	r->cpu_s += after - before;
	return rc;
}

/* So many rounds, which do not go beyond the end of the ring, and are all compared. */
static int
check_rounds(struct pairs *s, uint64_t rounds, struct raw_run *r)
{
	struct perf *p = s->load->perf;
	const struct tcpx_xfer_info none = { 0 };
	struct job_slots slots = { s->at, rounds * p->job.depth, true };
	int rc = load_arm(p, &s->side, slots, &s->seed);

	for (uint64_t d = s->at; !rc && p->job.lat && d < s->at + slots.slots; d++)
		rc = mem_fill(s->side.out ? s->side.out : s->side.in, &s->flat, d,
			      pattern_of(s->seed + 1, d)); /* what is to come back */
	if (!rc)
		rc = time_rounds(s, rounds, r);
	if (!rc)
		rc = load_compare(p, &s->side, slots, s->seed, &none, &s->raw_wrong);
	if (!rc)
		s->raw_compared += slots.slots;
	return rc;
}

/* As load_measure() does. */
static int
run_raw(struct pairs *s)
{
	struct perf *p = s->load->perf;
	uint64_t ring = s->slots / p->job.depth, left = s->rounds, n;
	struct raw_run *r = calloc(1, sizeof(*r));
	double ways = p->job.bi || p->job.lat ? 2 : 1;
	int rc = r ? 0 : -ENOMEM;

	if (r)
		tcpx_hist_init(&r->hist);
	if (!rc && (!p->args->check || p->job.lat)) {
		n = !p->args->check ? left : left > ring ? left - ring : 0;
		rc = n ? time_rounds(s, n, r) : 0;
		left -= n;
	}
	for (; !rc && left; left -= n) {
		n = ring - s->at / p->job.depth < left ? ring - s->at / p->job.depth : left;
		rc = check_rounds(s, n, r);
	}
	if (!rc && p->job.lat) {
		tcpx_hist_merge(&s->raw_hist, &r->hist);
		s->raw_us = (double)tcpx_hist_percentile(&r->hist, 50) / 1000;
	} else if (!rc) {
		s->raw_us = (double)r->ns / 1000 / (double)(s->rounds * p->job.depth);
	}
	if (!rc) {
		s->raw_ns = r->wall_ns / s->rounds;
		s->raw_cpu_s += r->cpu_s;
		s->raw_iters += s->rounds * p->job.depth;
		s->raw_bytes += (double)(p->at.size * s->rounds * p->job.depth) * ways;
	}
	free(r);
	return rc;
}

static int
run_ours(struct pairs *s, double *us)
{
	struct load_stats *o = s->ours, *t = s->total;
	int rc;

	memset(o, 0, sizeof(*o));
	tcpx_hist_init(&o->hist);
	rc = load_measure(s->load, s->iters, o);
	if (rc)
		return rc;
	s->ours_ns = o->ns / o->iters;
	*us = s->load->perf->job.lat ? (double)tcpx_hist_percentile(&o->hist, 50) / 1000
				     : (double)o->ns / 1000 / (double)o->iters;
	t->ns += o->ns;
	t->far_ns += o->far_ns;
	t->iters += o->iters;
	t->compared += o->compared;
	t->wrong += o->wrong;
	t->sum_us += o->sum_us;
	t->square_us += o->square_us;
	tcpx_hist_merge(&t->hist, &o->hist);
	usage_add_difference(&t->near, NULL, &o->near);
	usage_add_difference(&t->far, NULL, &o->far);
	return 0;
}

/* Shares the rest of --duration among the coming runs. */
static void
share_out(struct pairs *s, uint64_t until, uint64_t pairs_left)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system);
	uint64_t run_ns = now < until ? (until - now) / (2 * pairs_left) : 0;

	if (s->ours_ns)
		s->iters = load_iters_for(run_ns, s->ours_ns);
	if (s->raw_ns)
		s->rounds = load_iters_for(run_ns, s->raw_ns);
}

static int
run_pairs(struct pairs *s, uint64_t until, struct row *row)
{
	const struct perf_args *a = s->load->perf->args;
	struct pace *pace = s->load->perf->pace;
	int rc = 0;

	for (uint64_t i = 0; !rc && i < a->pairs; i++) {
		double ours = 0;
		struct row_pair *pair;

		if (until)
			share_out(s, until, a->pairs - i);

		if (pace) {
			pace->pair = i;
			if (i)
				pace_show(pace, tcpx_clock_now(&tcpx_clock_system));
			else /* calibration is no part of the estimate */
				pace_begin(pace, tcpx_clock_now(&tcpx_clock_system));
		}
		if (i % 2 == 0)
			rc = run_ours(s, &ours);
		if (!rc)
			rc = run_raw(s);
		if (!rc && i % 2)
			rc = run_ours(s, &ours);
		if (rc)
			break;
		pair = LIST_ADD(&row->pairs);
		*pair = (struct row_pair){ ours, s->raw_us, ours > 0 ? s->raw_us / ours : 0 };
	}
	return rc;
}

static void
fill_baseline(struct pairs *s, struct row *row)
{
	double us = 0;

	row_sum_up_pairs(row);
	snprintf(row->baseline_congestion, sizeof(row->baseline_congestion), "%s", s->congestion);
	if (s->load->perf->args->check && s->raw_iters) {
		row->baseline_compared = (double)s->raw_compared / (double)s->raw_iters;
		row->baseline_wrong = (double)s->raw_wrong;
	}
	if (s->raw_bytes > 0)
		row->baseline_cpu_s_per_GB = s->raw_cpu_s / (s->raw_bytes / 1e9);
	if (s->load->perf->job.lat) {
		row->baseline_half_rtt_us = (struct row_percentiles){
			(double)tcpx_hist_percentile(&s->raw_hist, 50) / 1000,
			(double)tcpx_hist_percentile(&s->raw_hist, 99) / 1000,
			(double)tcpx_hist_percentile(&s->raw_hist, 99.9) / 1000 };
	} else if (row->pairs.n) { /* over all pairs, as algbw is */
		for (size_t i = 0; i < row->pairs.n; i++)
			us += row->pairs.at[i].baseline_us;
		row->baseline_GBps = (double)s->load->perf->at.size / 1000 * (double)row->pairs.n / us;
	}
}

int
perf_pairs(struct load *l, uint64_t iters, struct load_stats *stats, struct row *row)
{
	struct pairs *s = calloc(1, sizeof(*s));
	uint64_t until = 0;
	int rc = -ENOMEM;

	if (!s)
		return rc;
	if (l->perf->args->duration_s)
		until = tcpx_clock_now(&tcpx_clock_system) + l->perf->args->duration_s * TCPX_SEC;
	*s = (struct pairs){ .load = l, .iters = iters, .rounds = iters, .total = stats,
			     .ours = malloc(sizeof(*s->ours)) };
	tcpx_hist_init(&s->raw_hist);
	rc = s->ours ? open_raw(s) : -ENOMEM;
	if (!rc && !l->perf->job.lat)
		rc = calibrate(s);
	if (!rc && s->rounds > LAT_ROUNDS_MAX)
		s->rounds = LAT_ROUNDS_MAX;
	if (!rc)
		rc = run_pairs(s, until, row);
	if (!rc && l->perf->job.lat) /* what the server's socket uses is not known yet */
		rc = set_call(s, 1 << 20);
	if (rc && row->pairs.n && perf_stop_asked())
		rc = 0; /* the pairs so far are kept */
	if (!rc)
		fill_baseline(s, row);
	baseline_close(s->raw);
	mem_close(NULL, &s->own[0]);
	mem_close(NULL, &s->own[1]);
	free(s->ours);
	free(s);
	return rc;
}
