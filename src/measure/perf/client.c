/* SPDX-License-Identifier: Apache-2.0 */
/* Session, memory and messages of the measuring side. */
#include "measure/perf/client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/text.h"
#include "measure/perf/events.h"
#include "measure/job/server.h"
#include "measure/job/stop.h"
#include "tool/tool.h"

static const char name[] = "tcpx perf";

#define SILENT_MS 1000 /* a wait that is longer says what it waits for */

/* "HOST", "[v6]", "HOST:PORT": adds the default port of serve. False: not an address. */
static bool
with_port(const char *host, char *out, size_t cap)
{
	const char *colon = strrchr(host, ':'), *bracket = strrchr(host, ']');
	bool bare_v6 = colon && strchr(host, ':') != colon && host[0] != '[';
	struct tcpx_addr addr;
	uint64_t port;

	if (!host[0] || host == colon || strlen(host) > cap - 16)
		return false;
	if ((host[0] == '[' && !bracket) || (bare_v6 && tcpx_addr_parse(host, &addr) != 0))
		snprintf(out, cap, "%s", host); /* the engine says how it is written */
	else if (bare_v6)
		snprintf(out, cap, "[%s]:%d", host, PERF_PORT);
	else if (!colon || colon < bracket)
		snprintf(out, cap, "%s:%d", host, PERF_PORT);
	else if (tcpx_parse_count(colon + 1, &port) || !port || port > UINT16_MAX)
		return false;
	else
		snprintf(out, cap, "%s", host);
	return true;
}

static int
read_blob_file(const char *path, uint8_t *blob, size_t cap, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : perf_read_blob(fd, blob, cap, len);

	if (fd >= 0)
		close(fd);
	return rc;
}

/* Waits for the session, and says once what for if that takes more than a second. */
static int
await_open(struct perf *p, const char *address)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };
	uint64_t limit_ms = p->args->timeout_s * 1000, connect_ms;
	struct tcpx_cfg *cfg;
	int rc = tcpx_peer_wait(p->peer, limit_ms < SILENT_MS ? (int)limit_ms : SILENT_MS);

	if (rc != -EAGAIN || limit_ms <= SILENT_MS || perf_load_settings(p->args, &cfg))
		return rc;
	connect_ms = tcpx_cfg_num(cfg, TCPX_SET_CONNECT_MS);
	tcpx_cfg_free(cfg);
	if (tcpx_peer_query(p->peer, &info) == 0 && info.status == -EAGAIN) {
		tcpx_text_show(info.cause, sizeof(info.cause), info.cause);
		fprintf(stderr, "%s: waiting for %s (%s; %" PRIu64 " s)%s\n", name, address,
			info.cause[0] ? info.cause : "no answer yet",
			(connect_ms < limit_ms ? connect_ms : limit_ms) / 1000,
			p->args->host ? ": is `tcpx serve` running there?" : "");
	}
	return tcpx_peer_wait(p->peer, (int)(limit_ms - SILENT_MS));
}

static int
open_session(struct perf *p)
{
	const struct perf_args *a = p->args;
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };
	uint8_t blob[JOB_BLOB_BYTES + 1];
	char address[300], text[256];
	size_t len = 0;
	int rc, code = TOOL_FINDING;

	if (a->self) {
		rc = perf_server_start(a, blob, sizeof(blob), &len, &p->child);
		if (rc)
			return tool_fail(TOOL_FINDING, name, "the server of --self did not start: %s",
					 tcpx_strerror(rc));
		rc = tcpx_peer_add(p->engine, blob, len, &p->peer);
		snprintf(address, sizeof(address), "the server of --self");
	} else if (a->peer_blob) {
		rc = read_blob_file(a->peer_blob, blob, sizeof(blob), &len);
		if (rc)
			return tool_fail(TOOL_USAGE, name, "cannot read the blob %s: %s", a->peer_blob,
					 tcpx_strerror(rc));
		rc = tcpx_peer_add(p->engine, blob, len, &p->peer);
		snprintf(address, sizeof(address), "the server of %.80s", a->peer_blob);
		if (rc == TCPX_EBLOB)
			code = TOOL_USAGE;
	} else {
		if (!with_port(a->host, address, sizeof(address)))
			return tool_usage(name, "'%s' is no address; allowed is HOST, HOST:PORT or"
					  " [IPv6]:PORT, port 1 to 65535", a->host);
		rc = tcpx_peer_connect(p->engine, address, &p->peer);
		if (rc == -EINVAL || rc == -EHOSTUNREACH) /* only the resolver was asked so
							   * far */
			code = TOOL_USAGE;
	}
	if (!rc)
		rc = await_open(p, address);
	if (rc == -EAGAIN)
		rc = TCPX_ETIMEDOUT;
	if (!rc)
		rc = tcpx_peer_query(p->peer, &info);
	if (rc) {
		tcpx_last_error(p->engine, text, sizeof(text));
		if (strncmp(text, "session with ", strlen("session with ")))
			return tool_fail(code, name, "no session with %s: %s%s", address,
					 text[0] ? text : tcpx_strerror(rc),
					 a->host && !strcmp(a->host, "self") ?
					 "; did you mean --self?" : "");
		return tool_fail(code, name, "no session with %s%s", text + strlen("session with "),
				 rc == TCPX_ETIMEDOUT && a->host ?
				 "; is `tcpx serve` running there?" : "");
	}
	snprintf(p->peer_name, sizeof(p->peer_name), "%s", info.name);
	return TOOL_OK;
}

int
perf_open(struct perf *p, struct perf_args *args)
{
	int rc;

	*p = (struct perf){ .args = args, .path_GBps = { NAN, NAN } };
	rc = events_open(args->events, &p->events);
	if (rc)
		return tool_fail(TOOL_USAGE, name, "--events %s: %s", args->events, strerror(-rc));
	rc = perf_settle(args, name, &p->gpus);
	if (rc)
		return rc;
	rc = perf_open_engine(args, name, "0", &p->engine);
	if (rc) {
		gpus_close(p->gpus);
		return rc;
	}
	rc = open_session(p);
	if (rc)
		perf_close(p);
	return rc;
}

void
perf_close(struct perf *p)
{
	int rc = p->peer ? job_send(p->peer, "bye", NULL) : 0;

	if (!p->engine)
		return;
	layouts_fini(&p->lay);
	lanes_close(&p->lanes_out);
	lanes_close(&p->lanes_in);
	mem_close(p->engine, &p->out);
	mem_close(p->engine, &p->in);
	if (p->peer)
		tcpx_peer_free(p->peer);
	if (rc)
		tcpx_close(p->engine); /* the peer is gone: nothing to wait for */
	else
		tcpx_close_wait(p->engine, 1000);
	gpus_close(p->gpus);
	perf_server_stop(&p->child);
	job_inbox_fini(&p->inbox);
	json_decref(p->server);
	events_close(p->events);
	*p = (struct perf){ 0 };
}

/* One note: 0 and *msg when it completes a message, else -EAGAIN or a code. */
static int
take_note(struct perf *p, tcpx_note *note, json_t **msg)
{
	size_t len;
	const char *data = tcpx_note_data(note, &len);
	int rc = -EAGAIN;

	if (!strcmp(tcpx_note_sender(note), p->peer_name) && len && data[0] == 'J')
		rc = job_inbox_feed(&p->inbox, data, len, msg);
	tcpx_note_free(note);
	return rc;
}

int
perf_await_note(struct perf *p, uint64_t until_ns, tcpx_note **note)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };
	int rc;

	do {
		rc = tcpx_note_wait(p->engine, 200, note);
		if (rc == -EAGAIN && !tcpx_peer_query(p->peer, &info) && info.status)
			rc = info.status;
	} while (rc == -EAGAIN && tcpx_clock_now(&tcpx_clock_system) < perf_stop_limit(until_ns));
	return rc;
}

int
perf_no_answer(struct perf *p, const char *want, uint64_t timeout_ms, int rc)
{
	uint64_t own_ms = p->args->timeout_s * 1000;

	if (perf_stop_asked())
		return -EINTR;
	if (rc != -EAGAIN) {
		tool_fail(TOOL_FINDING, name, "no '%s' from the server: %s (%s)", want,
			  tcpx_strerror(rc), tcpx_strerror_name(rc));
		return rc;
	}
	tool_fail(TOOL_FINDING, name, "no '%s' from the server for %.3g s%s: it does not answer "
		  "(TCPX_ETIMEDOUT). Is its process stopped, or its machine overloaded? Look there with "
		  "`tcpx top`", want, (double)timeout_ms / 1e3,
		  timeout_ms == own_ms ? " (--timeout)" : "");
	snprintf(p->refusal, sizeof(p->refusal), "the server did not answer for %.3g s",
		 (double)timeout_ms / 1e3);
	return TCPX_ETIMEDOUT;
}

int
perf_await(struct perf *p, const char *want, uint64_t timeout_ms, json_t **reply)
{
	uint64_t until = tcpx_clock_now(&tcpx_clock_system) + timeout_ms * TCPX_MS;
	json_t *msg = NULL;
	tcpx_note *note;
	int rc;

	for (;;) {
		rc = perf_await_note(p, until, &note);
		if (rc)
			return perf_no_answer(p, want, timeout_ms, rc);
		rc = take_note(p, note, &msg);
		if (rc == -EAGAIN && tcpx_clock_now(&tcpx_clock_system) < perf_stop_limit(until))
			continue;
		if (rc)
			return perf_no_answer(p, want, timeout_ms, rc);
		if (!strcmp(job_text(msg, "t"), want)) {
			*reply = msg;
			return 0;
		}
		if (!strcmp(job_text(msg, "t"), "error")) {
			tool_fail(TOOL_FINDING, name, "the server: %s", job_text(msg, "text"));
			snprintf(p->refusal, sizeof(p->refusal), "%s", job_text(msg, "text"));
			events_put(p->events, "refused", json_pack("{s:s}", "text",
								   job_text(msg, "text")));
			rc = TCPX_ESTATE;
		}
		json_decref(msg);
		if (rc)
			return rc;
	}
}

int
perf_ask(struct perf *p, const char *type, json_t *msg, const char *want, json_t **reply)
{
	int rc = job_send(p->peer, type, msg);

	if (rc)
		return rc;
	return perf_await(p, want, p->args->timeout_s * 1000, reply);
}

int
perf_tell(struct perf *p, const char *type, json_t *msg, const char *want)
{
	json_t *reply;
	int rc = perf_ask(p, type, msg, want, &reply);

	if (!rc)
		json_decref(reply);
	return rc;
}

/* Compares the requested way of copying to GPUs with the one the server reports. */
static int
compare_unpack(struct perf *p)
{
	const char *there = job_text(p->server, "unpack"), *asked = p->args->unpack;
	bool gpus = p->args->mem.gpus || p->far_mem.gpus;
	struct tcpx_cfg *cfg;
	int rc;

	if (asked && strcmp(asked, there))
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "--unpack %s: the server has '%s';"
				 " start it with tcpx serve --unpack %s", asked, there, asked);
	rc = perf_load_settings(p->args, &cfg);
	if (rc)
		return rc;
	p->unchecked = gpus && (!strcmp(there, "none") ||
				!strcmp(tcpx_cfg_str(cfg, TCPX_SET_UNPACK_IMPL), "none"));
	tcpx_cfg_free(cfg);
	return 0;
}

/* What the server receives, and what it sends if that goes over lanes, too. */
static int
join_lanes(struct perf *p)
{
	uint64_t timeout_ms = p->args->timeout_s * 1000;
	int rc = lanes_open(p->peer, p->server, p->job.lanes, &p->lanes_out);

	if (!rc)
		rc = lanes_await(&p->lanes_out, timeout_ms);
	if (!rc)
		rc = lanes_await(&p->lanes_in, timeout_ms);
	return rc;
}

static int
take_job_ok(struct perf *p)
{
	int rc = regions_import(p->engine, p->server, "server_out", &p->far_out);

	if (!rc)
		rc = regions_import(p->engine, p->server, "server_in", &p->far_in);
	if (rc)
		return rc;
	if ((job_has_out(&p->job) && !p->far_out.count) ||
	    (job_has_in(&p->job) && !p->far_in.count) ||
	    place_parse(job_text(p->server, "mem"), &p->far_mem))
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message job_ok: no memory in it");
	p->sides.placed = p->job.cpu_said && json_object_get(p->server, "cpu");
	rc = compare_unpack(p);
	return rc || p->job.op != JOB_LANE ? rc : join_lanes(p);
}

static int
begin_job(struct perf *p)
{
	const struct place *mem = &p->args->mem;
	struct job *job = &p->job;
	uint64_t least = job_slots_least(job);
	json_t *msg;
	int rc = 0;

	if (job_has_out(job))
		rc = mem_open(p->engine, p->gpus, mem, job->ring_bytes, least, job->span_bytes,
			      p->args->zerocopy ? TCPX_MEM_LEND : TCPX_MEM_LOCAL, &p->out);
	if (!rc && job_has_in(job))
		rc = mem_open(p->engine, p->gpus, mem, job->ring_bytes, least, job->span_bytes,
			      TCPX_MEM_REMOTE_WRITE, &p->in);
	if (rc)
		return rc;

	msg = job_format(job);
	rc = regions_export(p->engine, &p->in.regions, msg, "client_in");
	if (!rc && job->op == JOB_LANE && job_has_in(job))
		rc = lanes_listen(p->engine, msg, job->lanes, &p->lanes_in);
	if (rc) {
		json_decref(msg);
		return rc;
	}
	rc = perf_ask(p, "job", msg, "job_ok", &p->server);
	return rc ? rc : take_job_ok(p);
}

int
perf_begin_job(struct perf *p, uint64_t size_max)
{
	const struct perf_args *a = p->args;

	p->job = (struct job){ .op = a->op, .bi = a->bi, .lat = a->lat, .spin = a->spin,
			       .depth = a->depth, .lanes = a->lanes,
			       .span_bytes = layout_span(size_max, a->descs),
			       .mem_said = a->self || a->peer_mem, .iters = a->iters };
	p->job.ring_bytes = mem_ring_bytes(p->gpus, &a->mem, 0, a->beside) / job_ways(&p->job);
	if (a->iters && p->job.ring_bytes / p->job.span_bytes > a->iters)
		p->job.ring_bytes = p->job.span_bytes * a->iters;
	place_format(&a->mem, p->job.near);
	snprintf(p->job.label, sizeof(p->job.label), "%s", a->label ? a->label : "");
	snprintf(p->job.text, sizeof(p->job.text), "%s", a->text ? a->text : "");
	if (a->peer_mem)
		(void)place_parse(a->peer_mem, &p->job.mem); /* was accepted */
	if (a->self && a->lat && a->baseline && !sides_choose(&p->sides)) {
		p->job.cpu_said = true;
		p->job.cpu = p->sides.server;
	}
	return begin_job(p);
}

/* For --events: what the size is measured with. */
static void
put_session(struct perf *p)
{
	json_t *event = events_session(p->engine, p->peer, p->peer_name, job_has_out(&p->job));

	json_object_update_new(event, json_pack(
		"{s:s, s:s, s:s, s:o, s:I, s:I}", "role", "client", "mem", p->job.near, "peer_mem",
		job_text(p->server, "mem"), "gpus", gpus_format(p->gpus, &p->args->mem), "size",
		(json_int_t)p->at.size, "iters", (json_int_t)p->args->iters));
	events_put(p->events, "session", event);
}

int
perf_begin_case(struct perf *p, uint64_t size)
{
	const struct job_case at = { size, p->args->descs, size + 1 };
	struct layouts lay;
	json_t *reply;
	int rc = layouts_init(&lay, at.size, at.descs, at.seed);

	if (rc)
		return tool_fail(TOOL_FINDING, name, "a transfer of %" PRIu64 " bytes in %" PRIu64
				 " pieces: %s", at.size, at.descs, tcpx_strerror(rc));
	layouts_fini(&p->lay);
	p->lay = lay;
	p->at = at;
	p->runs[0] = p->runs[1] = 0;
	p->spoiled = false;
	rc = perf_ask(p, "case", job_case_format(&at), "case_ok", &reply);
	if (!rc) {
		rc = job_number(reply, "slots", job_slots_least(&p->job), JOB_SLOTS_MAX, &p->slots);
		json_decref(reply);
	}
	if (!rc && p->events)
		put_session(p);
	return rc;
}
