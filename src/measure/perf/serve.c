/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients of `tcpx serve` and their messages. job.c checks a message; the machine's
 * memory bounds what a client makes the server allocate.
 */
#include "measure/perf/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "measure/perf/events.h"
#include "measure/perf/free_memory.h"
#include "measure/perf/lane.h"
#include "tool/tool.h"

#define LEAVE_NS (2 * TCPX_SEC) /* a client that sent "bye" closes first, within this */
#define GONE_NS  (5 * TCPX_SEC) /* without an open session */

void
serve_init(struct serve *s, const struct perf_args *args, tcpx_engine *engine)
{
	*s = (struct serve){ .args = args, .engine = engine };
	tcpx_node_init(&s->clients);
}

static void
end_job(struct serve *s, struct client *g)
{
	client_end_path(g);
	client_end_case(s, g);
	lanes_close(&g->lanes_out);
	lanes_close(&g->lanes_in);
	mem_close(s->engine, &g->out);
	mem_close(s->engine, &g->in);
	regions_forget(s->engine, &g->client_in);
	g->has_job = false;
}

static void
drop_client(struct serve *s, struct client *g, const char *why)
{
	end_job(s, g);
	client_end_reach(g);
	events_put(s->events, "left", json_pack("{s:s, s:b, s:b}", "peer", g->shown, "measured",
						g->had_job, "bye", g->leaving));
	s->measured += g->had_job;
	s->failed += g->had_job && (g->failed || !g->leaving);
	serve_print(s, "client %s %s after %" PRIu64 " runs\n", g->shown, why, g->runs);
	s->served++;
	s->wrong += g->wrong;
	tcpx_peer_free(g->peer);
	job_inbox_fini(&g->inbox);
	tcpx_chain_remove(&g->node);
	free(g);
	if (tcpx_chain_empty(&s->clients))
		malloc_trim(0); /* glibc keeps most of what hundreds of them needed */
}

void
serve_fini(struct serve *s)
{
	tcpx_chain_each(node, after, &s->clients)
		drop_client(s, tcpx_container(node, struct client, node), "was here");
	serve_print_more(s, true);
	gpus_close(s->gpus);
}

bool
serve_is_busy(const struct serve *s)
{
	tcpx_chain_each(node, after, &s->clients)
		if (tcpx_container(node, struct client, node)->had_job)
			return true;
	return false;
}

bool
serve_is_shared(const struct serve *s)
{
	return s->clients.next != s->clients.prev;
}

/* By the session that brought the note: its name may be another client's. */
static struct client *
find_client(struct serve *s, const tcpx_note *note)
{
	struct client *g;
	tcpx_peer *peer;

	if (tcpx_note_peer(s->engine, note, &peer))
		return NULL;
	tcpx_chain_each(node, after, &s->clients) {
		g = tcpx_container(node, struct client, node);
		if (g->peer == peer)
			goto known;
	}
	if (!(g = calloc(1, sizeof(*g))))
		goto known;
	g->peer = peer;
	if (tcpx_chain_empty(&s->clients) && !s->lines.left_out &&
	    tcpx_clock_now(&tcpx_clock_system) >= s->line_ns + TCPX_SEC)
		memset(&s->lines, 0, sizeof(s->lines));
	snprintf(g->name, sizeof(g->name), "%s", tcpx_note_sender(note));
	tcpx_text_show(g->shown, sizeof(g->shown), g->name);
	tcpx_chain_add(&s->clients, &g->node);
	return g;
known:
	tcpx_peer_free(peer);
	return g;
}

/* NICs with their addresses, for the baseline's connections and for the client's print. */
static json_t *
format_nics(tcpx_engine *engine)
{
	struct tcpx_nic_info nic[64];
	size_t n = ARRAY_LEN(nic);
	json_t *list = json_array();

	if (tcpx_query_nics(engine, nic, sizeof(nic[0]), &n))
		n = 0;
	for (size_t i = 0; i < n && i < ARRAY_LEN(nic); i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", nic[i].name, "addr",
						      nic[i].addr));
	return list;
}

/* The GPUs that a client's memory is to lie on. */
static int
ready_gpus(struct serve *s, const struct place *place)
{
	struct tcpx_cfg *cfg;
	int rc = 0;

	if (place->gpus && !s->gpus) {
		rc = perf_load_settings(s->args, &cfg);
		if (rc)
			return rc;
		rc = gpus_open(tcpx_cfg_str(cfg, TCPX_SET_CUDA_LIBRARY), &s->gpus);
		tcpx_cfg_free(cfg);
		if (rc)
			return tcpx_fail(TCPX_SUB_TOOL, rc, "no GPU driver at the server, or no GPU");
	}
	return place->gpus ? gpus_ready(s->gpus, place) : 0;
}

/* Host memory of the clients, whether they have touched it or not. */
static uint64_t
promised(const struct serve *s)
{
	uint64_t sum = 0;

	tcpx_chain_each(node, after, &s->clients) {
		const struct client *g = tcpx_container(node, struct client, node);

		sum += g->out.gpus ? 0 : g->out.len;
		sum += g->in.gpus ? 0 : g->in.len;
	}
	return sum;
}

static int
open_mem(struct serve *s, struct client *g)
{
	uint64_t least = job_slots_least(&g->job), ring, free_bytes, taken;
	char where[PLACE_TEXT];
	int rc;

	g->place = g->job.mem_said ? g->job.mem : s->args->mem;
	rc = ready_gpus(s, &g->place);
	if (rc && s->args->any) {
		tool_fail(TOOL_FINDING, "tcpx serve", "client %s: %s cannot be used: host memory, by --any",
			  g->shown, place_format(&g->place, where));
		g->place.gpus = 0;
		rc = 0;
	}
	if (rc)
		return rc;
	taken = promised(s);
	free_bytes = perf_free_bytes();
	if (!g->place.gpus && free_bytes && least * g->job.span_bytes * job_ways(&g->job) >
					    (free_bytes > taken ? free_bytes - taken : 0))
		return tcpx_fail(TCPX_SUB_TOOL, -ENOMEM, "%" PRIu64 " MiB of memory for the transfers; %"
				 PRIu64 " MiB are free here, and clients were promised %" PRIu64,
				 least * g->job.span_bytes * job_ways(&g->job) >> 20, free_bytes >> 20,
				 taken >> 20);
	ring = mem_ring_bytes(s->gpus, &g->place, taken, 0) / job_ways(&g->job);
	if (ring > g->job.ring_bytes)
		ring = g->job.ring_bytes;
	if (job_has_out(&g->job))
		rc = mem_open(s->engine, s->gpus, &g->place, ring, least, g->job.span_bytes,
			      TCPX_MEM_REMOTE_WRITE, &g->out);
	if (!rc && job_has_in(&g->job))
		rc = mem_open(s->engine, s->gpus, &g->place, ring, least, g->job.span_bytes,
			      TCPX_MEM_REMOTE_READ | (s->args->zerocopy ? TCPX_MEM_LEND : 0), &g->in);
	return rc;
}

/* Where the memory lies and who copies to it, for the client's result. */
static int
add_place(struct serve *s, const struct client *g, json_t *reply)
{
	char where[PLACE_TEXT];
	struct tcpx_cfg *cfg;
	int rc = perf_load_settings(s->args, &cfg);

	if (rc)
		return rc;
	json_object_set_new(reply, "mem", json_string(place_format(&g->place, where)));
	json_object_set_new(reply, "unpack",
			    json_string(tcpx_cfg_str(cfg, TCPX_SET_UNPACK_IMPL)));
	json_object_set_new(reply, "gpus", gpus_format(s->gpus, &g->place));
	tcpx_cfg_free(cfg);
	return 0;
}

/* Is it a client for this server, now? */
static int
check_client(const struct serve *s, const struct client *g, const struct job *job)
{
	const char *label = s->args->label ? s->args->label : "";

	if (strcmp(job->label, label))
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_ESTATE, "this server is for clients with"
				 " --label '%s', this one has '%s'", label, job->label);
	if (s->args->once && !g->had_job && (s->measured || serve_is_busy(s)))
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_ESTATE, "this server measures one client, and"
				 " another has come before");
	return 0;
}

/* The client sends on lanes_out, and we on lanes_in. */
static int
open_lanes(struct serve *s, struct client *g, const json_t *msg, json_t *reply)
{
	int rc = lanes_listen(s->engine, reply, g->job.lanes, &g->lanes_out);

	if (rc || !job_has_in(&g->job))
		return rc;
	return client_is_here(g) ? lanes_open(g->peer, msg, g->job.lanes, &g->lanes_in) : TCPX_EPEERGONE;
}

static int
take_job(struct serve *s, struct client *g, const json_t *msg)
{
	char where[PLACE_TEXT];
	json_t *reply;
	int rc;

	end_job(s, g);
	rc = job_parse(msg, &g->job);
	if (!rc)
		rc = check_client(s, g, &g->job);
	if (!rc)
		rc = regions_import(s->engine, msg, "client_in", &g->client_in);
	if (!rc && job_has_in(&g->job) && !g->client_in.count)
		rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message job: no memory in it");
	if (!rc && g->job.cpu_said && s->args->ready_fd < 0) /* other clients use this server's thread, too */
		rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message job: cpu is %" PRIu64
			       ", allowed only to the client that started this server",
			       g->job.cpu);
	if (!rc)
		rc = open_mem(s, g);
	if (rc)
		return rc;
	reply = json_pack("{s:s, s:o}", "version", tcpx_version(), "nics", format_nics(s->engine));
	if (g->job.cpu_said)
		json_object_set_new(reply, "cpu", json_integer((json_int_t)g->job.cpu));
	rc = add_place(s, g, reply);
	if (!rc)
		rc = regions_export(s->engine, &g->out.regions, reply, "server_out");
	if (!rc)
		rc = regions_export(s->engine, &g->in.regions, reply, "server_in");
	if (!rc && g->job.op == JOB_LANE)
		rc = open_lanes(s, g, msg, reply);
	if (rc) {
		json_decref(reply);
		return rc;
	}
	g->has_job = g->had_job = true;
	g->failed = false;
	serve_print(s, "client %s: %s %s, %" PRIu64 " MiB of %s\n", g->shown, job_op_names[g->job.op],
		    g->job.lat ? "latency" : g->job.bi ? "bi" : "uni",
		    (g->out.len * g->out.parts + g->in.len * g->in.parts) >> 20, place_format(&g->place, where));
	return client_say(g, "job_ok", reply);
}

/* For --events: the session of this size. */
static void
put_session(struct serve *s, struct client *g)
{
	json_t *event = events_session(s->engine, g->peer, g->name, !job_has_out(&g->job));
	char where[PLACE_TEXT];

	json_object_update_new(event, json_pack(
		"{s:s, s:s, s:s, s:o, s:I, s:I}", "role", "server", "mem",
		place_format(&g->place, where), "peer_mem", g->job.near, "gpus",
		gpus_format(s->gpus, &g->place), "size", (json_int_t)g->at.size, "iters",
		(json_int_t)g->job.iters));
	events_put(s->events, "session", event);
}

static int
take_case(struct serve *s, struct client *g, const json_t *msg)
{
	struct job_case at;
	int rc = job_case_parse(msg, &g->job, &at);

	if (rc)
		return rc;
	if (layout_span(at.size, at.descs) > g->job.span_bytes)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_ERANGE, "a case of %" PRIu64 " bytes in %" PRIu64
				 " pieces needs more than the job's %" PRIu64 " bytes", at.size,
				 at.descs, g->job.span_bytes);
	client_end_case(s, g);
	g->at = at;
	rc = layouts_init(&g->lay, at.size, at.descs, at.seed);
	if (rc)
		return rc;
	g->slots = JOB_SLOTS_MAX;
	if (g->out.parts && mem_slots(&g->out, g->lay.span) < g->slots)
		g->slots = mem_slots(&g->out, g->lay.span);
	if (g->in.parts && mem_slots(&g->in, g->lay.span) < g->slots)
		g->slots = mem_slots(&g->in, g->lay.span);
	if (s->events)
		put_session(s, g);
	return client_say(g, "case_ok", json_pack("{s:I}", "slots", (json_int_t)g->slots));
}

static int
take_mark(struct client *g)
{
	struct usage *u = calloc(1, sizeof(*u));
	int rc = -ENOMEM;

	if (u) {
		usage_read_process(u);
		rc = client_say(g, "marked", usage_format(u));
	}
	free(u);
	return rc;
}

static int
take_look(struct serve *s, struct client *g)
{
	struct usage *u = calloc(1, sizeof(*u));
	int rc = -ENOMEM;

	if (u) {
		usage_read(s->engine, g->name, u);
		rc = client_say(g, "view", usage_format(u));
	}
	free(u);
	return rc;
}

static void
take_message(struct serve *s, struct client *g, const json_t *msg)
{
	const char *t = job_text(msg, "t");
	int rc;

	if (!strcmp(t, "bye")) {
		end_job(s, g);
		g->leaving = true;
		g->left_ns = tcpx_clock_now(&tcpx_clock_system);
		return;
	}
	if (!client_is_here(g)) /* it has said this, and closed */
		return;
	if (!strcmp(t, "job"))
		rc = take_job(s, g, msg);
	else if (!strcmp(t, "mark"))
		rc = take_mark(g);
	else if (!strcmp(t, "look"))
		rc = take_look(s, g);
	else if (!strcmp(t, "reach"))
		rc = client_take_reach(s, g, msg);
	else if (!g->has_job)
		rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_ESTATE, "message '%.32s' before any job", t);
	else if (!strcmp(t, "path"))
		rc = client_take_path(s, g, msg);
	else if (!strcmp(t, "case"))
		rc = take_case(s, g, msg);
	else if (!g->lay.span)
		rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_ESTATE, "message '%.32s' before any case", t);
	else if (g->check.kind)
		rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_ESTATE, "message '%.32s' before the end of what the one "
			       "before asked for", t);
	else if (!strcmp(t, "arm"))
		rc = client_take_arm(g, msg);
	else if (!strcmp(t, "run"))
		rc = client_begin_run(s, g, msg);
	else if (!strcmp(t, "verify"))
		rc = client_take_verify(g, msg);
	else if (!strcmp(t, "raw"))
		rc = client_take_raw(s, g, msg);
	else if (!strcmp(t, "raw_call"))
		rc = client_take_raw_call(g, msg);
	else
		rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message '%.32s' is not known", t);
	if (rc)
		client_fail(s, g, t, rc);
}

void
serve_note(struct serve *s, tcpx_note *note)
{
	struct client *g = find_client(s, note);
	size_t len;
	const char *data = tcpx_note_data(note, &len);
	json_t *msg;

	if (g && len && data[0] != 'J' && client_is_here(g))
		client_note_of_run(s, g, data, len);
	else if (g && !job_inbox_feed(&g->inbox, data, len, &msg)) {
		take_message(s, g, msg);
		json_decref(msg);
	}
	tcpx_note_free(note);
}

void
serve_sweep(struct serve *s)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system);

	serve_print_more(s, false);
	tcpx_chain_each(node, after, &s->clients) {
		struct client *g = tcpx_container(node, struct client, node);
		struct tcpx_peer_info info = { .struct_size = sizeof(info) };
		bool was_closed = g->closed_ns; /* its last notes have been handled since */

		if (tcpx_peer_query(g->peer, &info))
			continue;
		if (!info.status)
			g->closed_ns = 0;
		else if (!g->closed_ns)
			g->closed_ns = now;
		if ((info.status && info.status != -EAGAIN && was_closed) ||
		    (g->closed_ns && now - g->closed_ns > GONE_NS))
			drop_client(s, g, g->leaving ? "is done" : "has gone");
		else if (g->leaving && now - g->left_ns > LEAVE_NS)
			drop_client(s, g, "is done");
	}
}

bool
serve_pump(struct serve *s, tcpx_xfer **oldest)
{
	bool spin = false;

	*oldest = NULL;
	tcpx_chain_each(node, after, &s->clients) {
		struct client *g = tcpx_container(node, struct client, node);

		if (g->reach)
			client_step_reach(g);
		if (g->path)
			spin |= client_step_path(s, g);
		if (g->check.kind)
			spin |= client_step_check(s, g);
		spin |= client_pump(s, g, oldest);
	}
	return spin;
}
