/* SPDX-License-Identifier: Apache-2.0 */
/* The mesh's part of the result. Values from other ranks are checked here. */
#include "measure/mesh/result.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "measure/job/job.h"
#include "measure/mesh/sum.h"
#include "measure/report/result_fields.h"
#include "tool/tool.h"

/* @row NULL: it failed. */
static json_t *
format_pair(unsigned from, unsigned to, unsigned step, const struct row *row)
{
	struct result_mesh_pair pair = { .from = from, .to = to, .step = step, .failed = !row,
					 .peer_GBps = NAN, .p50_us = NAN, .compared = NAN };

	if (row) {
		pair.GBps = row->algbw_GBps;
		pair.peer_GBps = row->peer_algbw_GBps;
		pair.p50_us = row->time_us.p50;
		pair.iters = row->iters;
		pair.checked = row->checked;
		pair.compared = row->compared;
		pair.wrong = row->wrong;
	}
	return shape_json(&mesh_pair_shape, &pair);
}

void
mesh_result_add(json_t *pairs, const struct perf_args *a, unsigned step, unsigned client,
		unsigned peer, const struct result *r)
{
	const struct row *row = r && r->rows.n ? &r->rows.at[0] : NULL;
	bool comes = a->op == JOB_READ;

	json_array_append_new(pairs, format_pair(comes ? peer : client, comes ? client : peer, step,
						 row));
	if (a->bi)
		json_array_append_new(pairs, format_pair(comes ? client : peer,
							 comes ? peer : client, step, row));
}

void
mesh_result_keep(struct result *r, struct result *from)
{
	if (r->settings.n || r->nics.n)
		return;
	memcpy(r->provider, from->provider, sizeof(r->provider));
	memcpy(r->unpack, from->unpack, sizeof(r->unpack));
	memcpy(r->peer_unpack, from->peer_unpack, sizeof(r->peer_unpack));
	memcpy(&r->nics, &from->nics, sizeof(r->nics));
	memcpy(&r->settings, &from->settings, sizeof(r->settings));
	memcpy(&r->topology, &from->topology, sizeof(r->topology));
	memset(&from->nics, 0, sizeof(from->nics));
	memset(&from->settings, 0, sizeof(from->settings));
	memset(&from->topology, 0, sizeof(from->topology));
}

static int
read_pair(struct result_mesh *m, const json_t *msg, unsigned size)
{
	struct result_mesh_pair *p = LIST_ADD(&m->pairs);
	char why[SHAPE_WHY] = "a rank or a step that there is not";

	if (!shape_read(&mesh_pair_shape, msg, p, why) || p->from >= size || p->to >= size ||
	    p->step > 2 * size)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message pair: %s", why);
	return 0;
}

static void
read_rank(struct result_mesh *m, const json_t *hello, unsigned i)
{
	struct result_mesh_rank *rank = LIST_ADD(&m->ranks);
	uint64_t local = 0;

	if (hello && job_number(hello, "local", 0, INT32_MAX, &local))
		local = 0; /* without a hello: the ranks have not met */
	rank->rank = i;
	rank->local_rank = (unsigned)local;
	snprintf(rank->host, sizeof(rank->host), "%s", job_text(hello, "host"));
	snprintf(rank->mem, sizeof(rank->mem), "%s", job_text(hello, "mem"));
}

int
mesh_result_fill(struct result *r, const struct perf_args *a, const struct mesh_env *env,
		 const json_t *ranks, const json_t *pairs)
{
	struct result_mesh *m = LIST_ADD(&r->mesh);

	shape_clear(&mesh_shape, m);
	snprintf(r->role, sizeof(r->role), "mesh");
	snprintf(r->peer, sizeof(r->peer), "%u ranks", env->size);
	snprintf(m->launcher, sizeof(m->launcher), "%s", env->launcher);
	snprintf(m->plan, sizeof(m->plan), "%s", a->at_once ? "at once" : "turns");
	snprintf(m->op, sizeof(m->op), "%s", job_op_names[a->op]);
	snprintf(m->dir, sizeof(m->dir), "%s", a->bi ? "bi" : "uni");
	m->size = a->begin;
	for (unsigned i = 0; i < env->size; i++)
		read_rank(m, json_array_get(ranks, i), i);
	for (size_t i = 0; i < json_array_size(pairs); i++)
		if (read_pair(m, json_array_get(pairs, i), env->size))
			return tool_fail(TOOL_FINDING, "tcpx perf --mesh", "a pair that makes no sense");
	mesh_sum(m);
	return TOOL_OK;
}

/* One size was asked for, and is done only when all pairs are. */
static struct result_stop
stop_of(const struct result *r, const char *code)
{
	struct result_stop stop = { .size = r->mesh.n ? r->mesh.at[0].size : 0, .sizes_asked = 1 };

	snprintf(stop.code, sizeof(stop.code), "%s", code);
	return stop;
}

void
mesh_result_stop(struct result *r, const char *why, int signal)
{
	struct result_stop *stop = signal ? &r->interrupted : &r->failed;

	*stop = stop_of(r, !signal ? "failed" : signal == SIGTERM ? "SIGTERM" : "SIGINT");
	if (signal)
		why = signal == SIGTERM ? "asked to end" : "Ctrl-C";
	snprintf(stop->cause, sizeof(stop->cause), "%s", why);
}

void
mesh_result_judge(struct result *r)
{
	const struct result_mesh *m = &r->mesh.at[0];
	size_t failed = 0;

	for (size_t i = 0; i < m->pairs.n; i++)
		failed += m->pairs.at[i].failed;
	if (!failed || r->failed.code[0] || r->interrupted.code[0])
		return;
	r->failed = stop_of(r, "failed");
	snprintf(r->failed.cause, sizeof(r->failed.cause), "%zu of %zu pairs failed", failed,
		 m->pairs.n);
}
