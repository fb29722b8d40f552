/* SPDX-License-Identifier: Apache-2.0 */
/* The hub's states. Each rank sends one message a stage; when all have, the next begins. */
#include "measure/mesh/hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/job/job.h"

int
hub_init(struct hub *h, unsigned size, unsigned steps, const char *job, hub_send_fn send,
	 void *arg)
{
	*h = (struct hub){ .size = size, .steps = steps, .send = send, .arg = arg,
			   .conn = calloc(size, sizeof(*h->conn)),
			   .said = calloc(size, sizeof(*h->said)), .ranks = json_array(),
			   .pairs = json_array() };
	snprintf(h->job, sizeof(h->job), "%s", job);
	if (!h->conn || !h->said || !h->ranks || !h->pairs) {
		hub_fini(h);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < size; i++) {
		h->conn[i] = -1;
		json_array_append_new(h->ranks, json_null());
	}
	return 0;
}

void
hub_fini(struct hub *h)
{
	free(h->conn);
	free(h->said);
	json_decref(h->ranks);
	json_decref(h->pairs);
	*h = (struct hub){ 0 };
}

/* Sends to every rank present; @msg is shared. */
static void
tell_all(struct hub *h, unsigned from, const char *type, json_t *msg)
{
	for (unsigned i = from; i < h->size; i++)
		if (h->conn[i] >= 0)
			h->send(h->arg, (unsigned)h->conn[i], type, json_copy(msg));
	json_decref(msg);
}

void
hub_fail(struct hub *h, const char *text)
{
	if (h->stage == HUB_OVER)
		return;
	h->failed = true;
	h->stage = HUB_OVER;
	snprintf(h->why, sizeof(h->why), "%s", text);
	if (h->conn[0] >= 0)
		h->send(h->arg, (unsigned)h->conn[0], "fail",
			json_pack("{s:s, s:i, s:O}", "text", text, "signal", h->signal, "pairs",
				  h->pairs));
	tell_all(h, 1, "fail", json_pack("{s:s, s:i}", "text", text, "signal", h->signal));
}

static void
begin(struct hub *h, enum hub_stage stage)
{
	h->stage = stage;
	h->here = 0;
	memset(h->said, 0, h->size * sizeof(*h->said));
}

static void
end_stage(struct hub *h)
{
	if (h->stage == HUB_MEET) {
		tell_all(h, 0, "table", json_pack("{s:O}", "ranks", h->ranks));
		begin(h, HUB_AT);
	} else if (h->stage == HUB_AT) {
		tell_all(h, 0, "go", json_pack("{s:i}", "step", (int)h->step));
		begin(h, HUB_DONE);
	} else if (h->step + 1 < h->steps) {
		tell_all(h, 0, "next", json_pack("{s:i}", "step", (int)h->step));
		h->step++;
		begin(h, HUB_AT);
	} else {
		h->send(h->arg, (unsigned)h->conn[0], "all", json_pack("{s:O}", "pairs", h->pairs));
		tell_all(h, 1, "bye", json_object());
		h->stage = HUB_OVER;
	}
}

static int
rank_of(const struct hub *h, unsigned conn)
{
	for (unsigned i = 0; i < h->size; i++)
		if (h->conn[i] == (int)conn)
			return (int)i;
	return -1;
}

/* Refuses a foreign connection with a reason; the others go on waiting. */
static int
turn_away(struct hub *h, unsigned conn, const char *text)
{
	h->send(h->arg, conn, "fail", json_pack("{s:s}", "text", text));
	return tcpx_fail(TCPX_SUB_TOOL, TCPX_EPROTO, "rendezvous: %s", text);
}

/* Identifies the rank by its first message. */
static int
identify(struct hub *h, unsigned conn, const json_t *msg, uint64_t *rank)
{
	uint64_t size;
	char text[256];

	if (job_number(msg, "size", 1, INT32_MAX, &size) ||
	    job_number(msg, "rank", 0, INT32_MAX, rank))
		return turn_away(h, conn, "not a hello of ours");
	if (size == h->size && *rank < size && !strcmp(job_text(msg, "job"), h->job))
		return 0;
	snprintf(text, sizeof(text), "rank %u of %u, job '%.40s', met a job '%.40s' of %u ranks",
		 (unsigned)*rank, (unsigned)size, job_text(msg, "job"), h->job, h->size);
	return turn_away(h, conn, text);
}

static int
take_hello(struct hub *h, unsigned conn, const json_t *msg)
{
	uint64_t rank;
	char text[320];
	int rc = identify(h, conn, msg, &rank);

	if (rc)
		return rc;
	if (h->conn[rank] >= 0) {
		snprintf(text, sizeof(text), "rank %u is here twice, from %.64s", (unsigned)rank,
			 job_text(msg, "host"));
		return turn_away(h, conn, text);
	}
	if (!strcmp(job_text(msg, "t"), "fail")) {
		h->came++;
		snprintf(text, sizeof(text), "rank %u on %.64s: %.200s", (unsigned)rank,
			 job_text(msg, "host"), job_text(msg, "text"));
		hub_fail(h, text);
		return TCPX_EPROTO;
	}
	if (!*job_text(msg, "blob"))
		return turn_away(h, conn, "not a hello of ours");
	h->came++;
	h->conn[rank] = (int)conn;
	json_array_set(h->ranks, rank, (json_t *)msg);
	h->here++;
	return 0;
}

/* After the end: a late rank gets the reason why there is no mesh. */
static int
take_late(struct hub *h, unsigned conn, const json_t *msg)
{
	uint64_t rank;

	if (!h->failed || rank_of(h, conn) >= 0)
		return 0;
	if (!identify(h, conn, msg, &rank)) {
		h->came++;
		h->send(h->arg, conn, "fail", json_pack("{s:s}", "text", h->why));
	}
	return TCPX_EPROTO;
}

static int
take_step(struct hub *h, unsigned conn, const json_t *msg)
{
	bool at = h->stage == HUB_AT;
	int rank = rank_of(h, conn);
	const json_t *pairs;
	uint64_t step;
	char text[128];

	if (rank < 0)
		return turn_away(h, conn, "no hello first");
	if (strcmp(job_text(msg, "t"), at ? "at" : "done") || h->said[rank] ||
	    job_number(msg, "step", h->step, h->step, &step)) {
		snprintf(text, sizeof(text), "rank %d says '%.20s' out of turn", rank,
			 job_text(msg, "t"));
		hub_fail(h, text);
		return TCPX_EPROTO;
	}
	pairs = json_object_get(msg, "pairs");
	if (!at && json_is_array(pairs))
		json_array_extend(h->pairs, (json_t *)pairs);
	h->said[rank] = true;
	h->here++;
	return 0;
}

int
hub_take(struct hub *h, unsigned conn, const json_t *msg)
{
	char text[320];
	int rc;

	if (h->stage == HUB_OVER)
		return take_late(h, conn, msg);
	if (!strcmp(job_text(msg, "t"), "fail") && rank_of(h, conn) >= 0) {
		snprintf(text, sizeof(text), "rank %d: %.200s", rank_of(h, conn),
			 job_text(msg, "text"));
		h->signal = (int)json_integer_value(json_object_get(msg, "signal"));
		hub_fail(h, text);
		return h->signal ? 0 : TCPX_EPROTO; /* it waits for what the mesh has */
	}
	rc = h->stage == HUB_MEET ? take_hello(h, conn, msg) : take_step(h, conn, msg);
	if (!rc && h->here == h->size)
		end_stage(h);
	return rc;
}

void
hub_lost(struct hub *h, unsigned conn)
{
	int rank = rank_of(h, conn);
	const char *host;
	char text[160];

	if (rank < 0)
		return;
	h->conn[rank] = -1;
	if (h->stage == HUB_OVER)
		return;
	host = job_text(json_array_get(h->ranks, (size_t)rank), "host");
	snprintf(text, sizeof(text), "rank %d on %.64s has gone", rank, host);
	hub_fail(h, text);
}
