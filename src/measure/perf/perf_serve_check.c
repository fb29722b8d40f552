/* SPDX-License-Identifier: Apache-2.0 */
/* The server's part in comparing: it fills slots of the rings, and compares what has arrived. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "measure/perf/perf_events.h"
#include "measure/perf/perf_serve.h"

/* Our memory and layouts of the slots that a message names; NULL memory: there is none. */
struct side {
	const struct mem *out, *in;
	const struct layout *out_layout, *in_layout;
};

static struct side
side_of(const struct client *g, bool raw)
{
	if (raw)
		return (struct side){ g->raw_mem[0], g->raw_mem[1], &g->raw_flat, &g->raw_flat };
	return (struct side){ g->out.len ? &g->out : NULL, g->in.len ? &g->in : NULL,
			      &g->lay.server_out, &g->lay.server_in };
}

/* The slots of a message, which must be in the ring. */
static int
take_slots(const struct client *g, const json_t *msg, struct job_slots *s)
{
	bool raw = json_is_true(json_object_get(msg, "raw"));

	return job_slots_parse(msg, raw ? g->raw_slots : g->slots, s);
}

int
client_take_arm(struct client *g, const json_t *msg)
{
	struct job_slots s = { 0 };
	struct side here;
	int rc = job_number(msg, "seed", 0, INT64_MAX, &g->check_seed);

	if (!rc)
		rc = take_slots(g, msg, &s);
	here = side_of(g, s.raw);
	for (uint64_t d = s.slot; !rc && d < s.slot + s.slots; d++) {
		if (here.out)
			rc = mem_poison(here.out, here.out_layout, d, g->check_seed + 2);
		if (!rc && here.in)
			rc = mem_fill(here.in, here.in_layout, d, pattern_of(g->check_seed + 1, d));
	}
	return rc ? rc : job_send(g->peer, "armed", NULL);
}

/* What stands where the client has put its text: to be seen, and then replaced by the pattern,
 * which the comparison wants there. */
static int
take_text(struct client *g, uint64_t slot, char got[JOB_TEXT], struct layout_verdict *total)
{
	const struct pattern p = pattern_of(g->check_seed, slot);
	struct layout_verdict v = { 0 };
	size_t len = strlen(g->job.text) + 1;
	uint8_t pattern[JOB_TEXT];
	int rc;

	if (len == 1 || len > g->at.size || g->at.descs > 1)
		return 0;
	rc = mem_get(&g->out, &g->lay.server_out, slot, got, len);
	if (rc)
		return rc;
	got[len - 1] = '\0';
	for (size_t i = 0; i < len; i++)
		v.wrong += got[i] != g->job.text[i];
	if (v.wrong)
		snprintf(v.text, sizeof(v.text), "transfer %" PRIu64 " offset 0: the text is not"
			 " the client's", slot);
	layout_verdict_add(total, &v);
	pattern_fill(p, 0, pattern, len);
	return mem_put(&g->out, &g->lay.server_out, slot, pattern, len);
}

/* What arrived here. */
static int
compare(struct client *g, const struct job_slots *s, uint64_t chunk, char text[JOB_TEXT],
	struct layout_verdict *total)
{
	const struct side here = side_of(g, s->raw);
	int rc = 0;

	for (uint64_t d = s->slot; !rc && here.out && d < s->slot + s->slots; d++) {
		struct layout_verdict v = { 0 };

		if (!s->raw)
			rc = take_text(g, d, text, total);
		if (!rc)
			rc = mem_verify(here.out, here.out_layout, d, g->check_seed,
					s->slot + s->slots, g->check_seed + 2, chunk, &v);
		layout_verdict_add(total, &v);
	}
	return rc;
}

int
client_take_verify(struct serve *s, struct client *g, const json_t *msg)
{
	struct layout_verdict total = { 0 };
	struct job_slots slots = { 0 };
	char text[JOB_TEXT] = "";
	json_t *verdict, *event;
	uint64_t chunk;
	int rc = job_number(msg, "chunk", 0, INT64_MAX, &chunk);

	if (!rc)
		rc = take_slots(g, msg, &slots);
	if (!rc && g->out.len && json_is_true(json_object_get(msg, "spoil")))
		rc = mem_spoil(&g->out, &g->lay.server_out, slots.slot);
	if (!rc)
		rc = compare(g, &slots, chunk, text, &total);
	if (rc)
		return rc;
	g->wrong += total.wrong;
	if (text[0] && !s->quiet)
		printf("client %s: received '%s'\n", g->name, text);
	verdict = json_pack("{s:I, s:I, s:s}", "wrong", (json_int_t)total.wrong, "first",
			    (json_int_t)total.first, "text", total.text);
	event = json_pack("{s:s%, s:I}", "received", text, strnlen(text, sizeof(text)), "transfer",
			  json_integer_value(json_object_get(msg, "transfer")));
	json_object_update(event, verdict);
	if (slots.raw)
		json_decref(event);
	else
		events_put(s->events, "verdict", event);
	return job_send(g->peer, "verdict", verdict);
}
