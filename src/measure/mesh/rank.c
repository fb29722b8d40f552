/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the rendezvous and runs each step of the plan when the hub starts it. A failure
 * between two ranks is a failed pair; a failure between a rank and the hub ends the mesh.
 */
#include "measure/mesh/rank.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/job/job.h"
#include "measure/mesh/child.h"
#include "measure/mesh/line.h"
#include "measure/mesh/result.h"
#include "measure/job/server.h"
#include "measure/job/stop.h"
#include "tool/tool.h"

enum { LOOK_MS = 5 };

static const char name[] = "tcpx perf --mesh";

struct rank {
	const struct perf_args *args;
	const struct mesh_env *env;
	struct mesh_plan plan;
	struct result *result;  /* rank 0's is kept                                */
	int fd;                 /* to the hub                                      */
	struct mesh_line in;
	pid_t server;
	uint8_t blob[JOB_BLOB_BYTES];
	size_t blob_len;
	json_t *ranks;          /* the hello of every rank                         */
	struct mesh_child *child; /* of each rank                                  */
	json_t *failure;        /* the hub's "fail"; NULL none                     */
	bool stopping;          /* the hub knows that we were asked to end         */
	char why[256];          /* why there is no whole mesh; "" not known        */
};

struct mesh_plan
mesh_plan_of(const struct perf_args *a, unsigned size)
{
	return (struct mesh_plan){ .size = size, .at_once = a->at_once, .bi = a->bi };
}

uint64_t
mesh_step_ms(const struct perf_args *a)
{
	return (3 * a->timeout_s + 2 * a->duration_s + 60) * 1000;
}

static uint64_t
deadline(uint64_t ms)
{
	return tcpx_clock_now(&tcpx_clock_system) + ms * TCPX_MS;
}

static int
fail(struct rank *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A message, and the cause for the record of rank 0. */
static int
fail(struct rank *k, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->why, sizeof(k->why), fmt, ap);
	va_end(ap);
	return tool_fail(TOOL_FINDING, name, "%s", k->why);
}

static int
tell(struct rank *k, const char *type, json_t *msg)
{
	int rc = mesh_line_send(k->fd, type, msg);

	return rc ? fail(k, "the rendezvous is gone: %s", tcpx_strerror(rc)) : TOOL_OK;
}

/* A signal ends the mesh: the hub informs all, and gives rank 0 what was measured. */
static void
look_for_signal(struct rank *k)
{
	if (!perf_stop_asked() || k->stopping)
		return;
	k->stopping = true;
	(void)tell(k, "fail", json_pack("{s:s, s:i}", "text", "interrupted", "signal",
					perf_stop_asked()));
}

/* A "fail" of the hub, kept in k->failure. A signal needs no words. */
static int
take_failure(struct rank *k, json_t *msg)
{
	k->failure = json_incref(msg);
	if (json_integer_value(json_object_get(msg, "signal")))
		return TOOL_FINDING;
	return fail(k, "%s", job_text(msg, "text"));
}

/* The hub's next message, which must be @want. */
static int
hear(struct rank *k, const char *want, uint64_t ms, json_t **msg)
{
	struct pollfd p = { .fd = k->fd, .events = POLLIN };
	uint64_t until = deadline(ms);
	int rc;

	while ((rc = mesh_line_take(&k->in, msg)) == -EAGAIN) {
		look_for_signal(k);
		if (tcpx_clock_now(&tcpx_clock_system) > until)
			return fail(k, "rank 0 does not say '%s'", want);
		if (poll(&p, 1, 200) <= 0)
			continue;
		rc = mesh_line_fill(&k->in, k->fd);
		if (rc)
			return fail(k, "the rendezvous is gone: %s", tcpx_strerror(rc));
	}
	if (rc)
		return TOOL_FINDING;
	if (!strcmp(job_text(*msg, "t"), want))
		return TOOL_OK;
	if (!strcmp(job_text(*msg, "t"), "fail"))
		rc = take_failure(k, *msg);
	else
		rc = fail(k, "rank 0 says '%s', not '%s'", job_text(*msg, "t"), want);
	json_decref(*msg);
	*msg = NULL;
	return rc;
}

/* The first message at the rendezvous: our rank, and @more (its reference is taken). */
static int
arrive(struct rank *k, const char *type, json_t *more)
{
	const struct mesh_env *env = k->env;
	char host[MESH_HOST] = "";
	json_t *msg;

	if (mesh_connect(env->host, env->port, MESH_MEET_MS, &k->fd)) {
		json_decref(more);
		tcpx_err_last(k->why, sizeof(k->why));
		return TOOL_FINDING;
	}
	gethostname(host, sizeof(host) - 1);
	msg = json_pack("{s:i, s:i, s:s, s:s%}", "rank", (int)env->rank, "size", (int)env->size,
			"job", env->job, "host", host, strnlen(host, 71));
	json_object_update(msg, more);
	json_decref(more);
	return tell(k, type, msg);
}

/* This rank has no server. It reports that to the hub, since the others wait for it. */
static int
stay_away(struct rank *k, int why)
{
	char text[200];

	snprintf(text, sizeof(text), "its server did not start: %s", tcpx_strerror(why));
	fail(k, "rank %u: %s", k->env->rank, text);
	(void)arrive(k, "fail", json_pack("{s:s}", "text", text));
	return TOOL_FINDING;
}

static int
meet(struct rank *k)
{
	const struct mesh_env *env = k->env;
	char place[PLACE_TEXT];
	json_t *msg;
	int rc;

	rc = arrive(k, "hello",
		    json_pack("{s:i, s:s, s:o}", "local", (int)env->local_rank, "mem",
			      place_format(&k->args->mem, place), "blob",
			      job_hex(k->blob, k->blob_len)));
	if (rc == TOOL_OK)
		rc = hear(k, "table", MESH_MEET_MS + 10000, &msg);
	if (rc != TOOL_OK)
		return rc;
	k->ranks = json_incref(json_object_get(msg, "ranks"));
	json_decref(msg);
	if (json_array_size(k->ranks) != env->size)
		return fail(k, "rank 0's table has not %u ranks", env->size);
	return TOOL_OK;
}

/* Waits until @done is true of each of our measurements or time is up. A message of the hub
 * means that the mesh has failed. */
static int
watch(struct rank *k, bool (*done)(struct mesh_child *))
{
	struct pollfd p = { .fd = k->fd, .events = POLLIN };
	uint64_t until = deadline(mesh_step_ms(k->args));
	json_t *msg;
	bool all = false;

	while (!all && tcpx_clock_now(&tcpx_clock_system) < until) {
		all = true;
		look_for_signal(k);
		for (unsigned peer = 0; peer < k->env->size; peer++)
			all &= k->child[peer].gate < 0 || done(&k->child[peer]);
		if (!all && poll(&p, 1, LOOK_MS) > 0 && hear(k, "", 5000, &msg) != TOOL_OK)
			return TOOL_FINDING;
	}
	return TOOL_OK;
}

/* Measurements of ranks of this host beside one of ours, at most: each has a server, too. */
static uint64_t
count_beside(const struct rank *k)
{
	const char *host = job_text(json_array_get(k->ranks, k->env->rank), "host");
	uint64_t here = 0;

	for (unsigned rank = 0; rank < k->env->size; rank++)
		here += !strcmp(job_text(json_array_get(k->ranks, rank), "host"), host);
	return 2 * here * (k->args->at_once ? k->env->size - 1 : 1) - 1;
}

/* Starts a measurement with each peer whose client we are in this step. */
static void
start_children(struct rank *k, unsigned step)
{
	uint8_t blob[JOB_BLOB_BYTES];
	size_t len;

	for (unsigned peer = 0; peer < k->env->size; peer++) {
		struct mesh_child *c = &k->child[peer];
		const json_t *hello = json_array_get(k->ranks, peer);

		*c = (struct mesh_child){ .gate = -1, .result = -1 };
		if (!mesh_plan_client(&k->plan, step, k->env->rank, peer))
			continue;
		c->failed = job_bytes(json_object_get(hello, "blob"), "blob", blob, sizeof(blob),
				      &len) || mesh_child_start(k->args, peer, count_beside(k), blob, len, c);
	}
}

static json_t *
end_children(struct rank *k, unsigned step)
{
	json_t *pairs = json_array();
	struct result r;

	for (unsigned peer = 0; peer < k->env->size; peer++) {
		bool good;

		if (!mesh_plan_client(&k->plan, step, k->env->rank, peer))
			continue;
		good = mesh_child_end(&k->child[peer], &r);
		mesh_result_add(pairs, k->args, step, k->env->rank, peer, good ? &r : NULL);
		if (good && k->env->rank == 0)
			mesh_result_keep(k->result, &r);
		if (good)
			result_fini(&r);
	}
	return pairs;
}

/* A measurement that has not reached its gate by now is not waited for again. */
static void
open_gate(struct mesh_child *c)
{
	if (c->ready)
		mesh_child_go(c);
	else
		mesh_child_kill(c);
}

static int
do_step(struct rank *k, unsigned step)
{
	json_t *msg;
	int rc;

	if (k->env->rank == 0)
		tool_progress("step %u of %u", step + 1, mesh_plan_steps(&k->plan));
	start_children(k, step);
	rc = watch(k, mesh_child_ready);
	if (rc == TOOL_OK)
		rc = tell(k, "at", json_pack("{s:i}", "step", (int)step));
	if (rc == TOOL_OK)
		rc = hear(k, "go", mesh_step_ms(k->args), &msg);
	if (rc != TOOL_OK)
		return rc;
	json_decref(msg);
	for (unsigned peer = 0; peer < k->env->size; peer++)
		if (mesh_plan_client(&k->plan, step, k->env->rank, peer))
			open_gate(&k->child[peer]);
	rc = watch(k, mesh_child_over);
	if (rc != TOOL_OK)
		return rc;
	return tell(k, "done", json_pack("{s:i, s:o}", "step", (int)step, "pairs",
					 end_children(k, step)));
}

static int
do_all(struct rank *k)
{
	unsigned steps = mesh_plan_steps(&k->plan);
	json_t *msg = NULL;
	int rc = TOOL_OK;

	for (unsigned step = 0; rc == TOOL_OK && step < steps; step++) {
		const char *then = step + 1 < steps ? "next" : k->env->rank ? "bye" : "all";

		json_decref(msg);
		msg = NULL;
		rc = do_step(k, step);
		if (rc == TOOL_OK)
			rc = hear(k, then, mesh_step_ms(k->args), &msg);
	}
	tool_progress_clear();
	if (rc == TOOL_OK && k->env->rank == 0)
		rc = mesh_result_fill(k->result, k->args, k->env, k->ranks,
				      json_object_get(msg, "pairs"));
	json_decref(msg);
	return rc;
}

/* The record of a mesh that did not come to its end: what was measured before. */
static void
keep_rest(struct rank *k, int signal)
{
	if (k->result->mesh.n) /* it came to its end, with pairs that make no sense */
		return;
	(void)mesh_result_fill(k->result, k->args, k->env, k->ranks,
			       json_object_get(k->failure, "pairs"));
	mesh_result_stop(k->result, k->why[0] ? k->why : "see its log", signal);
}

int
mesh_rank_run(const struct perf_args *a, const struct mesh_env *env, struct result *r)
{
	struct rank k = { .args = a, .env = env, .plan = mesh_plan_of(a, env->size), .result = r,
			  .fd = -1, .child = calloc(env->size, sizeof(*k.child)) };
	int signal;
	int rc = k.child ? perf_server_start(a, k.blob, sizeof(k.blob), &k.blob_len, &k.server)
			 : -ENOMEM;

	for (unsigned i = 0; k.child && i < env->size; i++)
		k.child[i] = (struct mesh_child){ .gate = -1, .result = -1 };
	if (rc)
		rc = stay_away(&k, rc);
	else
		rc = meet(&k);
	if (rc == TOOL_OK)
		rc = do_all(&k);
	for (unsigned i = 0; k.child && i < env->size; i++)
		mesh_child_kill(&k.child[i]);
	perf_server_stop(&k.server);
	mesh_line_fini(&k.in);
	signal = (int)json_integer_value(json_object_get(k.failure, "signal"));
	if (rc != TOOL_OK && env->rank == 0)
		keep_rest(&k, signal);
	json_decref(k.failure);
	json_decref(k.ranks);
	if (k.fd >= 0)
		close(k.fd);
	free(k.child);
	return signal ? 128 + signal : rc;
}
