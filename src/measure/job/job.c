/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and cases as messages, checked. */
#include "measure/job/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpuset.h"
#include "base/text.h"

const char *const job_op_names[] = { "write", "read", "sendrecv", "lane", NULL };

bool
job_has_out(const struct job *job)
{
	return job->op != JOB_READ || job->bi;
}

bool
job_has_in(const struct job *job)
{
	return job->op == JOB_READ || job->bi || job->lat;
}

uint64_t
job_slots_least(const struct job *job)
{
	return job->lat ? JOB_LAT_SLOTS : job->depth;
}

unsigned
job_ways(const struct job *job)
{
	return job_has_out(job) + job_has_in(job);
}

bool
job_is_met(const struct job *job)
{
	return job->op == JOB_SENDRECV || job->op == JOB_LANE;
}

uint64_t
job_depth_most(enum job_op op)
{
	return op == JOB_LANE ? TCPX_LANE_OPEN : JOB_DEPTH_MAX;
}

json_t *
job_slots_format(struct job_slots s)
{
	return json_pack("{s:I, s:I, s:b}", "slot", (json_int_t)s.slot, "slots",
			 (json_int_t)s.slots, "raw", s.raw);
}

int
job_slots_parse(const json_t *msg, uint64_t most, struct job_slots *s)
{
	struct job_slots got = { .raw = json_is_true(json_object_get(msg, "raw")) };
	int rc = job_number(msg, "slot", 0, most ? most - 1 : 0, &got.slot);

	if (!rc)
		rc = job_number(msg, "slots", 1, most - got.slot, &got.slots);
	if (!rc)
		*s = got;
	return rc;
}

int
job_number(const json_t *msg, const char *name, uint64_t min, uint64_t max, uint64_t *out)
{
	const json_t *v = json_object_get(msg, name);
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < 0 || (uint64_t)n < min || (uint64_t)n > max)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB,
				 "message %s: %s is %" JSON_INTEGER_FORMAT ", allowed is %" PRIu64
				 " to %" PRIu64, job_text(msg, "t"), name, n, min, max);
	*out = (uint64_t)n;
	return 0;
}

double
job_real(const json_t *msg, const char *name)
{
	return json_number_value(json_object_get(msg, name));
}

const char *
job_text(const json_t *msg, const char *name)
{
	const char *s = json_string_value(json_object_get(msg, name));

	return s ? s : "";
}

json_t *
job_hex(const void *data, size_t len)
{
	const uint8_t *in = data;
	char text[2 * JOB_BLOB_BYTES + 1] = "";

	for (size_t i = 0; i < len && i < JOB_BLOB_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", in[i]);
	return json_string(text);
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int
job_bytes(const json_t *hex, const char *name, void *out, size_t cap, size_t *len)
{
	const char *s = json_is_string(hex) ? json_string_value(hex) : "";
	size_t n = strlen(s) / 2;
	uint8_t *to = out;

	if (strlen(s) % 2 || n > cap || strspn(s, "0123456789abcdef") != strlen(s))
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB,
				 "message of the peer: %s is not at most %zu bytes in hex", name, cap);
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)(hex_digit(s[2 * i]) << 4 | hex_digit(s[2 * i + 1]));
	*len = n;
	return 0;
}

json_t *
job_format(const struct job *job)
{
	char mem[PLACE_TEXT];
	json_t *msg = json_pack("{s:s, s:b, s:b, s:b, s:I, s:I, s:I, s:s}", "op",
				job_op_names[job->op], "bi", job->bi, "lat", job->lat, "spin",
				job->spin, "depth", (json_int_t)job->depth, "span",
				(json_int_t)job->span_bytes, "ring",
				(json_int_t)job->ring_bytes, "mem",
				job->mem_said ? place_format(&job->mem, mem) : "");

	if (job->cpu_said)
		json_object_set_new(msg, "cpu", json_integer((json_int_t)job->cpu));
	json_object_update_new(msg, json_pack("{s:s, s:s, s:s, s:I}", "label", job->label, "text",
					      job->text, "near", job->near, "iters",
					      (json_int_t)job->iters));
	if (job->lanes > 1)
		json_object_set_new(msg, "lanes", json_integer((json_int_t)job->lanes));
	return msg;
}

/* Text member @name, "" if there is none; TCPX_EBLOB if it does not fit or is not printable. */
static int
short_text(const json_t *msg, const char *name, char out[JOB_TEXT])
{
	const char *text = job_text(msg, name);

	for (const char *c = text; *c; c += tcpx_text_shows(c))
		if (!tcpx_text_shows(c) || c + tcpx_text_shows(c) - text >= JOB_TEXT)
			return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message job: %s is no printable"
					 " text of at most %d bytes", name, JOB_TEXT - 1);
	snprintf(out, JOB_TEXT, "%s", text);
	return 0;
}

int
job_parse(const json_t *msg, struct job *job)
{
	struct job j = { .lanes = 1, .bi = json_is_true(json_object_get(msg, "bi")),
			 .lat = json_is_true(json_object_get(msg, "lat")),
			 .spin = json_is_true(json_object_get(msg, "spin")) };
	const char *op = job_text(msg, "op"), *mem = job_text(msg, "mem");
	int rc;

	while (job_op_names[j.op] && strcmp(op, job_op_names[j.op]))
		j.op++;
	if (!job_op_names[j.op])
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB,
				 "message job: op is '%.16s', allowed are write, read, sendrecv,"
				 " lane", op);
	j.mem_said = mem[0];
	if (j.mem_said && place_parse(mem, &j.mem))
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message job: mem is '%.64s', %s", mem,
				 place_allowed);
	rc = job_number(msg, "depth", 1, job_depth_most(j.op), &j.depth);
	if (!rc && json_object_get(msg, "lanes"))
		rc = job_number(msg, "lanes", 1, JOB_LANES_MAX, &j.lanes);
	if (!rc)
		rc = job_number(msg, "span", 1, INT64_MAX / JOB_DEPTH_MAX, &j.span_bytes);
	if (!rc && json_object_get(msg, "ring"))
		rc = job_number(msg, "ring", 0, INT64_MAX, &j.ring_bytes);
	j.cpu_said = json_object_get(msg, "cpu");
	if (!rc && j.cpu_said)
		rc = job_number(msg, "cpu", 0, TCPX_CPUS_MAX - 1, &j.cpu);
	if (!rc)
		rc = short_text(msg, "label", j.label);
	if (!rc)
		rc = short_text(msg, "text", j.text);
	if (!rc)
		rc = short_text(msg, "near", j.near);
	if (!rc && json_object_get(msg, "iters"))
		rc = job_number(msg, "iters", 0, INT64_MAX, &j.iters);
	if (!rc)
		*job = j;
	return rc;
}

json_t *
job_case_format(const struct job_case *c)
{
	return json_pack("{s:I, s:I, s:I}", "size", (json_int_t)c->size, "descs",
			 (json_int_t)c->descs, "seed", (json_int_t)c->seed);
}

int
job_case_parse(const json_t *msg, const struct job *job, struct job_case *c)
{
	struct job_case got = { 0 };
	uint64_t most = 1;
	int rc = job_number(msg, "size", 0, job->span_bytes, &got.size);

	if (got.size && job->op != JOB_LANE && !job->lat)
		most = got.size < JOB_PIECES_MAX ? got.size : JOB_PIECES_MAX;
	if (!rc)
		rc = job_number(msg, "descs", 1, most, &got.descs);
	if (!rc)
		rc = job_number(msg, "seed", 0, INT64_MAX, &got.seed);
	if (!rc)
		*c = got;
	return rc;
}
