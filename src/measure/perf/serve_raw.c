/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's part in the comparisons: plain sockets over the same pages, or over
 * page-locked host memory where ours are a GPU's, and the copies of our own GPUs.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "measure/perf/serve.h"

/* The sockets get what the engine's connections with this client have. */
static int
choose_congestion(struct serve *s, const struct client *g, struct baseline_plan *plan)
{
	struct usage *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	usage_read(s->engine, g->name, u);
	snprintf(plan->congestion, sizeof(plan->congestion), "%s", usage_congestion(u));
	free(u);
	return 0;
}

static int
fill_plan(struct client *g, const json_t *msg, struct baseline_plan *plan)
{
	const json_t *conns = json_object_get(msg, "conns");
	uint64_t threads;
	int rc;

	*plan = (struct baseline_plan){
		.echo = json_is_true(json_object_get(msg, "echo")), .out = &g->raw_flat,
		.in = &g->raw_flat, .depth = g->job.depth,
		.placed = g->job.cpu_said, .cpu = (unsigned)g->job.cpu,
		.conns = json_array_size(conns) };
	if (!plan->conns || plan->conns > BASELINE_CONNS)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message raw: %zu connections, allowed"
				 " are 1 to %d", plan->conns, BASELINE_CONNS);
	rc = layout_init(&g->raw_flat, g->at.size, 1, 0);
	if (!rc)
		rc = job_number(msg, "threads", 1, plan->conns < BASELINE_THREADS ? plan->conns :
				BASELINE_THREADS, &threads);
	if (!rc)
		rc = job_number(msg, "token", 0, INT64_MAX, &plan->token);
	if (!rc) /* a piece by itself takes no more room than several */
		rc = job_number(msg, "slots", job_slots_least(&g->job), g->slots, &plan->slots);
	if (rc)
		return rc;
	for (size_t i = 0; i < plan->conns; i++) {
		plan->conn[i].out = json_integer_value(json_array_get(conns, i)) != 0;
		if (!(plan->conn[i].out ? g->out.len : g->in.len))
			return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message raw: connection %zu has"
					 " a direction that the job has not", i);
	}
	plan->threads = (unsigned)threads;
	plan->span = g->raw_flat.span;
	rc = mem_for_sockets(&g->out, plan->slots * plan->span, &g->raw_own[0], &g->raw_mem[0]);
	if (!rc)
		rc = mem_for_sockets(&g->in, plan->slots * plan->span, &g->raw_own[1],
				     &g->raw_mem[1]);
	plan->out_mem = mem_at(g->raw_mem[0]);
	plan->in_mem = mem_at(g->raw_mem[1]);
	g->raw_slots = rc ? 0 : plan->slots;
	if (plan->echo) /* it has a buffer of its own */
		g->raw_mem[0] = g->raw_mem[1] = NULL;
	return rc;
}

int
client_take_raw(struct serve *s, struct client *g, const json_t *msg)
{
	struct baseline_plan *plan = calloc(1, sizeof(*plan));
	uint16_t port;
	int rc = -ENOMEM;

	client_end_raw(s, g);
	if (plan)
		rc = fill_plan(g, msg, plan);
	if (!rc)
		rc = choose_congestion(s, g, plan);
	if (!rc)
		rc = baseline_serve(plan, &port, &g->raw);
	free(plan);
	return rc ? rc : client_say(g, "raw_ok", json_pack("{s:i}", "port", (int)port));
}

int
client_take_raw_call(struct client *g, const json_t *msg)
{
	char names[BASELINE_NAMES];
	uint64_t bytes;
	int rc = job_number(msg, "bytes", 1, 1 << 30, &bytes);

	if (!rc && g->raw)
		baseline_set_call(g->raw, bytes);
	return rc ? rc : client_say(g, "raw_called", json_pack("{s:s}", "congestion", g->raw
				  ? baseline_congestion(g->raw, names) : ""));
}

void
client_end_raw(struct serve *s, struct client *g)
{
	baseline_close(g->raw);
	g->raw = NULL;
	g->raw_mem[0] = g->raw_mem[1] = NULL;
	g->raw_slots = 0;
	mem_close(s->engine, &g->raw_own[0]);
	mem_close(s->engine, &g->raw_own[1]);
}

int
client_take_path(struct serve *s, struct client *g, const json_t *msg)
{
	uint64_t bytes;
	int rc = job_number(msg, "bytes", 4096, GPU_FLOW_BYTES, &bytes);

	if (!rc && GPU_FLOW_BYTES % bytes)
		rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message path: bytes is no part of %d",
			       GPU_FLOW_BYTES);
	if (rc)
		return rc;
	client_end_path(g);
	g->path = calloc(1, sizeof(*g->path));
	rc = g->path ? path_open(s->gpus, &g->place, job_has_in(&g->job), job_has_out(&g->job), g->path)
		     : -ENOMEM;
	if (!rc)
		rc = client_say(g, "path_go", NULL);
	if (!rc)
		rc = path_begin(g->path, bytes);
	if (rc)
		client_end_path(g);
	return rc;
}

bool
client_step_path(struct serve *s, struct client *g)
{
	struct path_speed speed;
	int rc = path_step(g->path, &speed);
	json_t *ran;

	if (rc == -EAGAIN)
		return true;
	client_end_path(g);
	if (!rc) {
		ran = json_object();
		if (isfinite(speed.from_GBps))
			json_object_set_new(ran, "from", json_real(speed.from_GBps));
		if (isfinite(speed.to_GBps))
			json_object_set_new(ran, "to", json_real(speed.to_GBps));
		rc = client_say(g, "path_ran", ran);
	}
	if (rc)
		client_fail(s, g, "path", rc);
	return false;
}

void
client_end_path(struct client *g)
{
	if (g->path)
		path_close(g->path);
	free(g->path);
	g->path = NULL;
}
