/* SPDX-License-Identifier: Apache-2.0 */
/* The mesh's part of the result. Values from other ranks are checked here. */
#include "measure/mesh/mesh_result.h"

#include <math.h>
#include <string.h>

#include "measure/perf/job.h"
#include "measure/mesh/mesh_sum.h"
#include "measure/report/result_fields.h"
#include "tool/tool.h"

static json_t *
format_pair(unsigned from, unsigned to, unsigned step, const struct row *row)
{
	json_t *pair = json_pack("{s:i, s:i, s:i, s:b}", "from", (int)from, "to", (int)to, "step",
				 (int)step, "failed", row == NULL);

	if (!row)
		return pair;
	json_object_set_new(pair, "GBps", json_real(row->algbw_GBps));
	if (isfinite(row->peer_algbw_GBps))
		json_object_set_new(pair, "peer_GBps", json_real(row->peer_algbw_GBps));
	json_object_set_new(pair, "p50_us", json_real(row->time_us.p50));
	json_object_set_new(pair, "iters", json_integer((json_int_t)row->iters));
	json_object_set_new(pair, "checked", json_boolean(row->checked));
	json_object_set_new(pair, "wrong", json_integer((json_int_t)row->wrong));
	return pair;
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
	uint64_t from, to, step, iters = 0, wrong = 0;
	int rc = job_number(msg, "from", 0, size - 1, &from);

	if (!rc)
		rc = job_number(msg, "to", 0, size - 1, &to);
	if (!rc)
		rc = job_number(msg, "step", 0, 2 * (uint64_t)size, &step);
	if (!rc && json_object_get(msg, "iters"))
		rc = job_number(msg, "iters", 0, INT64_MAX, &iters);
	if (!rc && json_object_get(msg, "wrong"))
		rc = job_number(msg, "wrong", 0, INT64_MAX, &wrong);
	if (rc)
		return rc;
	*p = (struct result_mesh_pair){
		.from = (unsigned)from, .to = (unsigned)to, .step = (unsigned)step,
		.GBps = fmax(job_real(msg, "GBps"), 0),
		.peer_GBps = json_object_get(msg, "peer_GBps") ? job_real(msg, "peer_GBps") : NAN,
		.p50_us = json_object_get(msg, "p50_us") ? job_real(msg, "p50_us") : NAN,
		.iters = iters, .wrong = wrong,
		.checked = json_is_true(json_object_get(msg, "checked")),
		.failed = json_is_true(json_object_get(msg, "failed")) };
	return 0;
}

static void
read_rank(struct result_mesh *m, const json_t *hello, unsigned i)
{
	struct result_mesh_rank *rank = LIST_ADD(&m->ranks);
	uint64_t local = 0;

	if (job_number(hello, "local", 0, INT32_MAX, &local))
		local = 0;
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
