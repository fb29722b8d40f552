/* SPDX-License-Identifier: Apache-2.0 */
/* The server's part in comparing: it fills slots of the rings, and compares what has arrived, a few
 * at a time, as other clients wait. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "measure/perf/events.h"
#include "measure/perf/serve.h"

enum { STEP_BYTES = 16 << 20 }; /* then others have their turn */

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
	struct client_check c = { .kind = CHECK_ARM };
	int rc = job_number(msg, "seed", 0, INT64_MAX, &g->check_seed);

	if (!rc)
		rc = take_slots(g, msg, &c.slots);
	if (rc)
		return rc;
	c.next = c.slots.slot;
	g->check = c;
	return 0;
}

static int
arm(struct client *g, const struct side *here, uint64_t slot)
{
	int rc = 0;

	if (here->out)
		rc = mem_poison(here->out, here->out_layout, slot, g->check_seed + 2);
	if (!rc && here->in)
		rc = mem_fill(here->in, here->in_layout, slot, pattern_of(g->check_seed + 1, slot));
	return rc;
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
compare(struct client *g, const struct side *here, uint64_t slot)
{
	struct client_check *c = &g->check;
	struct layout_verdict v = { 0 };
	int rc = 0;

	if (!here->out)
		return 0;
	if (!c->slots.raw)
		rc = take_text(g, slot, c->text, &c->total);
	if (!rc)
		rc = mem_verify(here->out, here->out_layout, slot, g->check_seed,
				c->slots.slot + c->slots.slots, g->check_seed + 2, c->chunk, &v);
	layout_verdict_add(&c->total, &v);
	return rc;
}

int
client_take_verify(struct client *g, const json_t *msg)
{
	struct client_check c = { .kind = CHECK_VERIFY,
		.transfer = json_integer_value(json_object_get(msg, "transfer")) };
	int rc = job_number(msg, "chunk", 0, INT64_MAX, &c.chunk);

	if (!rc)
		rc = take_slots(g, msg, &c.slots);
	if (!rc && g->out.len && json_is_true(json_object_get(msg, "spoil")))
		rc = mem_spoil(&g->out, &g->lay.server_out, c.slots.slot);
	if (rc)
		return rc;
	c.next = c.slots.slot;
	g->check = c;
	return 0;
}

static int
say_verdict(struct serve *s, struct client *g, const struct client_check *c)
{
	json_t *verdict, *event;
	char text[JOB_TEXT];

	g->wrong += c->total.wrong;
	tcpx_text_show(text, sizeof(text), c->text);
	if (text[0])
		serve_print(s, "client %s: received '%s'\n", g->shown, text);
	verdict = json_pack("{s:I, s:I, s:s}", "wrong", (json_int_t)c->total.wrong, "first",
			    (json_int_t)c->total.first, "text", c->total.text);
	event = json_pack("{s:s, s:I}", "received", text, "transfer", c->transfer);
	json_object_update(event, verdict);
	if (c->slots.raw)
		json_decref(event);
	else
		events_put(s->events, "verdict", event);
	return client_say(g, "verdict", verdict);
}

bool
client_step_check(struct serve *s, struct client *g)
{
	struct client_check *c = &g->check;
	const struct side here = side_of(g, c->slots.raw);
	uint64_t end = c->slots.slot + c->slots.slots, bytes = 0;
	bool arms = c->kind == CHECK_ARM;
	int rc = 0;

	for (; !rc && c->next < end && bytes < STEP_BYTES; bytes += g->lay.span)
		rc = arms ? arm(g, &here, c->next++) : compare(g, &here, c->next++);
	if (!rc && c->next < end)
		return true;
	c->kind = CHECK_NONE;
	if (!rc)
		rc = arms ? client_say(g, "armed", NULL) : say_verdict(s, g, c);
	if (rc)
		client_fail(s, g, arms ? "arm" : "verify", rc);
	return false;
}
