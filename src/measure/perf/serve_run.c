/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's part in a run. For WRITE and READ it only waits for the note that ends it;
 * for SEND/RECV and lanes it posts the other halves; with --lat it sends each ping back.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "measure/perf/events.h"
#include "measure/perf/lane.h"
#include "measure/perf/serve.h"
#include "tool/tool.h"

/* Sends in flight: a pong must not wait for the acknowledgement of the one before. */
static uint64_t
send_depth(const struct client *g)
{
	return g->job.lat ? PONG_SLOTS : g->job.depth;
}

/* Are there pings that come as WRITEs, to be sent back? */
static bool
sends_pongs(const struct client *g)
{
	return g->job.lat && g->job.op == JOB_WRITE;
}

/* Sends the client our side of the run. */
static void
end_run(struct serve *s, struct client *g)
{
	struct client_run *r = &g->run;
	struct usage *u = calloc(1, sizeof(*u));
	int rc = -ENOMEM;

	client_stop_run(g);
	g->runs++;
	if (u) {
		usage_add_difference(u, &r->before, &r->after);
		if (r->timed) {
			u->now_ns = sync_took(&r->sync, r->begin_ns, r->end_said_ns, r->took_said_ns);
			g->timed_ns += u->now_ns;
			g->timed_iters += r->iters;
			usage_add_difference(&g->usage, NULL, u);
		}
		events_put(s->events, "run", json_pack("{s:I, s:I}", "ns", (json_int_t)u->now_ns,
						       "peer_ns", (json_int_t)r->took_said_ns));
		rc = client_say(g, "ran", usage_format(u));
	}
	free(u);
	if (rc)
		client_fail(s, g, "the result of a run", rc);
}

static int
prepare_pong(struct serve *s, struct client *g, uint64_t slot)
{
	tcpx_list **list = g->pong_list[slot];
	struct tcpx_desc d; /* a latency case is one piece */
	int rc = 0;

	regions_descs(&g->in.regions, &g->lay.server_in, slot, &d);
	if (!list[0])
		rc = tcpx_list_prepare(s->engine, &d, 1, &list[0]);
	regions_descs(&g->client_in, &g->lay.client_in, slot, &d);
	if (!rc && !list[1])
		rc = tcpx_list_prepare(s->engine, &d, 1, &list[1]);
	return rc ? rc : tcpx_xfer_prepare(g->peer, TCPX_OP_WRITE, list[0], list[1],
					   &g->pong[slot]);
}

static int
prepare_pongs(struct serve *s, struct client *g)
{
	int rc;

	if (!g->pong)
		g->pong = calloc(g->slots, sizeof(*g->pong));
	if (!g->pong_list)
		g->pong_list = calloc(g->slots, sizeof(*g->pong_list));
	rc = g->pong && g->pong_list ? 0 : -ENOMEM;
	for (uint64_t i = 0; !rc && i < g->run.ring; i++)
		rc = g->pong[i] ? 0 : prepare_pong(s, g, i);
	return rc;
}

static int
post_half(struct client *g, enum tcpx_op op, uint64_t n, tcpx_xfer **xfer)
{
	bool recv = op == TCPX_OP_RECV;
	const struct layout *l = recv ? &g->lay.server_out : &g->lay.server_in;
	const struct regions *regions = recv ? &g->out.regions : &g->in.regions;
	uint64_t d = (g->run.slot + n) % g->run.ring;
	struct tcpx_desc *desc;
	int rc;

	if (g->job.op == JOB_LANE)
		return lanes_post(recv ? &g->lanes_out : &g->lanes_in, regions, l, d, xfer);
	desc = calloc(l->count, sizeof(*desc));
	if (!desc)
		return -ENOMEM;
	regions_descs(regions, l, d, desc);
	rc = recv ? tcpx_recv(g->peer, desc, l->count, d, xfer)
		  : tcpx_send(g->peer, desc, l->count, d, xfer);
	free(desc);
	return rc;
}

/* Keeps up to depth receives and sends posted; a pong is sent when its ping is here. *more: pieces
 * enough for one turn were posted. */
static int
post_halves(struct client *g, bool *more)
{
	struct client_run *r = &g->run;
	uint64_t depth = g->job.depth, may_send = 0, may_recv = tool_min(r->iters, r->received + depth);
	uint64_t left = JOB_PIECES_MAX, pieces = g->lay.server_out.count;
	int rc = 0;

	if (g->job.lat)
		may_send = tool_min(r->received, r->sent + send_depth(g));
	else if (g->job.bi)
		may_send = tool_min(r->iters, r->sent + send_depth(g));
	if ((r->recv_posted < may_recv || r->send_posted < may_send) && !client_is_here(g))
		return TCPX_EPEERGONE;
	for (; !rc && left >= pieces && r->recv_posted < may_recv; left -= pieces) {
		rc = post_half(g, TCPX_OP_RECV, r->recv_posted, &g->recv[r->recv_posted % depth]);
		r->recv_posted += !rc;
	}
	for (; !rc && left >= pieces && r->send_posted < may_send; left -= pieces) {
		rc = post_half(g, TCPX_OP_SEND, r->send_posted,
			       &g->send[r->send_posted % send_depth(g)]);
		r->send_posted += !rc;
	}
	*more = left < pieces;
	return rc == -EAGAIN ? 0 : rc; /* the client has not said yet that it has our lane */
}

int
client_begin_run(struct serve *s, struct client *g, const json_t *msg)
{
	struct client_run *r = &g->run;
	uint64_t iters, slot = 0, ring = 0;
	bool more;
	int rc = job_number(msg, "iters", 1, INT64_MAX, &iters);

	if (!rc)
		rc = job_number(msg, "ring", job_slots_least(&g->job), g->slots, &ring);
	if (!rc)
		rc = job_number(msg, "slot", 0, ring - 1, &slot);
	if (rc)
		return rc;
	client_stop_run(g);
	memset(r, 0, sizeof(*r));
	r->iters = iters;
	r->slot = slot;
	r->ring = ring;
	r->timed = json_is_true(json_object_get(msg, "timed"));
	r->going = !r->timed;
	if (job_is_met(&g->job))
		rc = post_halves(g, &more);
	else if (sends_pongs(g))
		rc = prepare_pongs(s, g);
	if (!rc && g->job.cpu_said)
		rc = thread_place(&g->placed, (unsigned)g->job.cpu);
	if (rc)
		return rc;
	usage_read(s->engine, g->name, &r->before);
	if (s->events)
		events_put(s->events, "begin", json_pack("{s:I, s:b, s:I}", "run",
							 (json_int_t)g->runs_of[r->timed], "timed",
							 r->timed, "iters", (json_int_t)iters));
	g->runs_of[r->timed]++;
	rc = client_say(g, "ready", NULL);
	r->on = !rc;
	return rc;
}

/* Sends for each ping the same bytes back, with a note. *oldest: the one that comes first, since
 * its acknowledgement is missing, a ring ago; NULL: none. */
static int
send_pongs(struct client *g, tcpx_xfer **oldest)
{
	struct client_run *r = &g->run;
	const char note = JOB_NOTE_PING;
	int rc = 0;

	for (; !rc && r->sent < r->received; r->sent += !rc) {
		tcpx_xfer *x = g->pong[(r->slot + r->sent) % r->ring];

		*oldest = x;
		if (tcpx_test(x) == -EAGAIN)
			return 0;
		rc = tcpx_xfer_post(x, &note, 1);
	}
	*oldest = NULL;
	return rc;
}

/* The client's time; it is answered. */
static int
hear_time(struct client *g, const char *note, size_t len)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system), said;
	const char answer = JOB_NOTE_TIME;
	int rc = sync_parse(note, len, &said, 1);

	if (rc)
		return rc;
	sync_hear(&g->run.sync, said, now);
	return client_is_here(g) ? tcpx_notify(g->peer, &answer, 1) : TCPX_EPEERGONE;
}

/* The last transfer has been acknowledged. The times so far were for the begin; new ones
 * follow for the end. */
static int
hear_end(struct serve *s, struct client *g, const char *note, size_t len)
{
	struct client_run *r = &g->run;
	uint64_t ns[2];

	usage_read(s->engine, g->name, &r->after);
	r->over = !r->timed;
	if (!r->timed)
		return 0;
	if (sync_parse(note, len, ns, 2))
		return -EINVAL;
	r->begin_ns = sync_map(&r->sync, ns[0]);
	r->end_said_ns = ns[1];
	r->took_said_ns = ns[1] - ns[0];
	sync_init(&r->sync);
	return 0;
}

void
client_note_of_run(struct serve *s, struct client *g, const char *note, size_t len)
{
	struct client_run *r = &g->run;
	tcpx_xfer *oldest;
	int rc = 0;

	if (!r->on)
		return;
	if (note[0] == JOB_NOTE_PING && sends_pongs(g)) {
		r->received++;
		rc = send_pongs(g, &oldest); /* at once: the client's clock runs */
	} else if (note[0] == JOB_NOTE_TIME)
		rc = hear_time(g, note, len);
	else if (note[0] == JOB_NOTE_GO) {
		r->going = true;
		usage_read_process(&r->before); /* times that went to and fro are not the run's */
	} else if (note[0] == JOB_NOTE_END)
		rc = hear_end(s, g, note, len);
	else if (note[0] == JOB_NOTE_DONE)
		r->over = true;
	if (rc)
		client_fail(s, g, "a note of a run", rc);
	else if (r->over && !job_is_met(&g->job))
		end_run(s, g);
}

/* Gives back the oldest of a ring when it has ended. */
static int
reap(tcpx_xfer **ring, uint64_t depth, uint64_t *done, uint64_t posted)
{
	int rc = 0;

	while (*done < posted) {
		rc = tcpx_test(ring[*done % depth]);
		if (rc)
			break;
		tcpx_xfer_free(ring[*done % depth]);
		ring[*done % depth] = NULL;
		++*done;
	}
	return rc;
}

/* For --events: the oldest transfer that has not arrived, or not left. */
static void
put_failure(struct serve *s, struct client *g, int rc)
{
	const struct client_run *r = &g->run;
	bool receiving = r->received < r->recv_posted;
	tcpx_xfer *x = receiving ? g->recv[r->received % g->job.depth]
				 : g->send[r->sent % send_depth(g)];

	events_put(s->events, "failed", events_failure(x, rc, !receiving));
}

/* The pongs that a ping's note could not send. */
static bool
pump_pongs(struct serve *s, struct client *g, tcpx_xfer **oldest)
{
	tcpx_xfer *missing = NULL;
	int rc = 0;

	if (g->run.sent < g->run.received)
		rc = client_is_here(g) ? send_pongs(g, &missing) : TCPX_EPEERGONE;
	*oldest = missing ? missing : *oldest;
	if (rc)
		client_fail(s, g, "a pong", rc);
	return g->run.on && g->job.spin;
}

bool
client_pump(struct serve *s, struct client *g, tcpx_xfer **oldest)
{
	struct client_run *r = &g->run;
	uint64_t depth = g->job.depth, sends;
	bool more = false;
	int rc;

	if (r->on && sends_pongs(g))
		return pump_pongs(s, g, oldest);
	if (!r->on || !job_is_met(&g->job))
		return r->on && g->job.spin;
	rc = reap(g->recv, depth, &r->received, r->recv_posted);
	if (!rc || rc == -EAGAIN)
		rc = reap(g->send, send_depth(g), &r->sent, r->send_posted);
	if (!rc || rc == -EAGAIN)
		rc = post_halves(g, &more);
	if (rc) {
		if (s->events)
			put_failure(s, g, rc);
		client_fail(s, g, "send and receive", rc);
		return false;
	}
	sends = job_has_in(&g->job) ? r->iters : 0;
	if (r->over && r->received == r->iters && r->sent == sends) {
		end_run(s, g);
		return false;
	}
	if (!r->going || more)
		return g->job.spin || more;
	if (r->received < r->recv_posted)
		*oldest = g->recv[r->received % depth];
	else if (r->sent < r->send_posted)
		*oldest = g->send[r->sent % send_depth(g)];
	return g->job.spin;
}

/* Prints our own figures of the finished size, to compare with the client's. */
static void
print_case(struct serve *s, struct client *g)
{
	char size[24];

	if (!g->timed_ns)
		return;
	serve_print(s, "client %s: %s %s x %" PRIu64 ": %.2f GB/s\n", g->shown, job_op_names[g->job.op],
		    tcpx_format_size(g->at.size, size, sizeof(size)), g->timed_iters,
		    (double)g->at.size * (double)g->timed_iters / (double)g->timed_ns);
}

void
client_end_case(struct serve *s, struct client *g)
{
	print_case(s, g);
	if (s->events && g->timed_iters)
		events_put(s->events, "usage", events_usage(&g->usage));
	memset(&g->usage, 0, sizeof(g->usage));
	g->runs_of[0] = g->runs_of[1] = 0;
	g->timed_ns = g->timed_iters = 0;
	client_end_raw(s, g);
	client_stop_run(g);
	g->check.kind = CHECK_NONE;
	for (uint64_t i = 0; g->pong && i < g->slots; i++)
		tcpx_xfer_free(g->pong[i]);
	for (uint64_t i = 0; g->pong_list && i < 2 * g->slots; i++)
		if (g->pong_list[i / 2][i % 2])
			tcpx_list_free(g->pong_list[i / 2][i % 2]);
	free(g->pong);
	free(g->pong_list);
	g->pong = NULL;
	g->pong_list = NULL;
	layouts_fini(&g->lay);
}
