/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes of a world: opened, posted on at both ends, cancelled, closed, their memory deregistered.
 * The n-th send meets the n-th receive, and a completed send means that the receive has
 * succeeded with every byte, or that it will unless something ends the lane, if it is small. What an
 * end of a message gives back is overwritten at once. A babbler may have one of the ends.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

enum { TX, RX };

#define CLOSE_NS (20 * TCPX_MS) /* an end that is over is closed soon */

static const char *const side_name[] = { "sender", "receiver" };

static uint64_t
now_of(const struct sim_world *w)
{
	return sim_now(w);
}

static double
ms_of(const struct sim_world *w)
{
	return (double)(now_of(w) - w->begun_ns) / TCPX_MS;
}

static bool
closed(const struct sim_world *w, const struct sim_end *e)
{
	return e->engine == SIM_NOBODY || w->engine[e->engine].closed;
}

/* ---- ends of messages ------------------------------------------------------------ */

static void
give_up(struct sim_world *w, struct sim_end *e)
{
	if (e->over)
		return;
	e->over = true;
	if (e->close_ns == SIM_NEVER)
		e->close_ns = now_of(w) + CLOSE_NS;
}

/* The receive has failed: its bytes are old or right, or filler of a message given up half way, or
 * anything where the network changes bits. */
static void
check_part(struct sim_world *w, const struct sim_lane *l, uint32_t n)
{
	const struct sim_message *m = &l->message[n];
	const uint8_t *got = l->end[RX].mem + m->at[RX], *old = l->end[RX].orig + m->at[RX];
	const uint8_t *right = l->end[TX].orig + m->at[TX];

	if (w->flips && tcpx_fabric_flips(w->fabric))
		return;
	for (uint32_t i = 0; i < m->room; i++)
		if (got[i] != old[i] && (i >= m->len || (got[i] != right[i] && got[i]))) {
			sim_fail(w, "message %u of a lane failed and left byte %u as %02x, old %02x",
				 n, i, got[i], old[i]);
			return;
		}
}

/* The application has its bytes back, and uses them. */
static void
overwrite(struct sim_end *e, uint32_t at, uint32_t len)
{
	for (uint32_t i = at; i < at + len; i++)
		e->mem[i] = (uint8_t)(e->mem[i] + 101);
}

static void
keep(struct sim_end *e, uint32_t at, uint32_t len)
{
	memcpy(e->orig + at, e->mem + at, len);
}

/* Up to this length a send may succeed before it is there. */
static uint32_t
early_most(const struct sim_world *w, const struct sim_lane *l)
{
	bool framed = w->early_bytes && w->engine[l->end[TX].engine].lends;

	return framed ? TCPX_LANE_DATA_MAX : w->early_bytes;
}

static void
end_send(struct sim_world *w, struct sim_lane *l, uint32_t n, int status)
{
	struct sim_message *m = &l->message[n];
	const struct sim_handle *r = &m->handle[RX];

	if (status == 0 && m->len > early_most(w, l) && !closed(w, &l->end[RX]) &&
	    (!r->posted || (r->ended ? r->status : tcpx_test(r->xfer))))
		sim_fail(w, "send %u of a lane succeeded, its receive did not (%s)", n,
			 !r->posted ? "not posted" :
			 tcpx_strerror_name(r->ended ? r->status : tcpx_test(r->xfer)));
	if (l->end[TX].gone)
		return;
	if (memcmp(l->end[TX].mem + m->at[TX], l->end[TX].orig + m->at[TX], m->len))
		sim_fail(w, "a byte of send %u of a lane has changed", n);
	overwrite(&l->end[TX], m->at[TX], m->len);
}

static void
end_receive(struct sim_world *w, struct sim_lane *l, uint32_t n, int status)
{
	struct sim_message *m = &l->message[n];
	struct sim_end *e = &l->end[RX];
	struct tcpx_xfer_info info = { .struct_size = sizeof(info) };

	if (e->gone) /* its memory holds what the application wrote since */
		return;
	if (l->end[TX].engine == SIM_NOBODY) {
		keep(e, m->at[RX], m->room);
		return;
	}
	if (status == 0) {
		if (memcmp(e->mem + m->at[RX], l->end[TX].orig + m->at[TX], m->len) ||
		    memcmp(e->mem + m->at[RX] + m->len, e->orig + m->at[RX] + m->len, m->room - m->len))
			sim_fail(w, "receive %u of a lane ended with a wrong byte", n);
		if (m->handle[RX].xfer && (tcpx_xfer_query(m->handle[RX].xfer, &info) ||
					   info.bytes_total != m->len || info.bytes_done != m->len))
			sim_fail(w, "receive %u of %u bytes: info says %llu of %llu", n, m->len,
				 (unsigned long long)info.bytes_done,
				 (unsigned long long)info.bytes_total);
	} else {
		check_part(w, l, n);
		overwrite(e, m->at[RX], m->room);
	}
	keep(e, m->at[RX], m->room);
}

static void
end_message(struct sim_world *w, struct sim_lane *l, int k, uint32_t n, int status)
{
	struct sim_handle *h = &l->message[n].handle[k];

	h->ended = true;
	h->status = status;
	if (w->verbose)
		printf("  %8.3f ms lane %d message %u: the %s ends with %s\n", ms_of(w),
		       (int)(l - w->lane), n, side_name[k],
		       status ? tcpx_strerror_name(status) : "success");
	(k == TX ? end_send : end_receive)(w, l, n, status);
	if (status)
		give_up(w, &l->end[k]);
}

/* Ends what has ended. Those of an end that is @over must have. Returns how many that are not
 * watched. */
static uint32_t
look(struct sim_world *w, struct sim_lane *l, int k, bool over)
{
	uint32_t found = 0;

	for (uint32_t n = 0; n < l->end[k].posted; n++) {
		struct sim_handle *h = &l->message[n].handle[k];
		int status = h->xfer ? tcpx_test(h->xfer) : h->status;

		if (h->ended && status != h->status)
			sim_fail(w, "message %u of a lane ended again: %d, now %d", n, h->status,
				 status);
		if (!h->ended && status == -EAGAIN && over)
			sim_fail(w, "message %u is in progress at a %s that is over", n, side_name[k]);
		if (h->ended || status == -EAGAIN)
			continue;
		found += !h->watched;
		end_message(w, l, k, n, status);
	}
	return found;
}

uint32_t
sim_lanes_look(struct sim_world *w, int engine)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < w->lane_count; i++)
		for (int k = 0; k < 2; k++)
			if (w->lane[i].end[k].engine == engine)
				found += look(w, &w->lane[i], k, false);
	return found;
}

/* ---- doing ----------------------------------------------------------------------- */

static bool
is_complete(const struct sim_lane *l, int k)
{
	for (uint32_t n = 0; n < l->count; n++)
		if (!l->message[n].handle[k].ended || l->message[n].handle[k].status)
			return false;
	return true;
}

static int
open_to_babbler(struct sim_world *w, struct sim_lane *l, const uint8_t *key)
{
	tcpx_peer *p = sim_some_babbler(w);
	int rc = p ? tcpx_lane_open(p, key, &l->end[TX].lane) : w->ops->comm ? -ENOTSUP : TCPX_ECLOSED;

	tcpx_peer_free(p);
	return rc;
}

static void
open_end(struct sim_world *w, struct sim_lane *l, int k)
{
	struct sim_engine *e = &w->engine[l->end[k].engine];
	uint8_t key[TCPX_LANE_KEY];
	int rc;

	l->end[k].opened = true;
	if (e->closed) {
		give_up(w, &l->end[k]);
		return;
	}
	memcpy(key, l->key, sizeof(key));
	key[0] ^= l->stray;
	if (k == RX)
		rc = tcpx_lane_listen(e->engine, l->key, &l->end[k].lane);
	else if (l->end[RX].engine == SIM_NOBODY)
		rc = open_to_babbler(w, l, key);
	else
		rc = tcpx_lane_open(sim_peer(w, l->end[TX].engine, l->end[RX].engine), key, &l->end[k].lane);
	if (k == RX && l->end[TX].engine == SIM_NOBODY)
		sim_babblers_learn(w, l);
	if (w->verbose)
		printf("  %8.3f ms lane %d: the %s is opened at e%d: %s\n", ms_of(w),
		       (int)(l - w->lane), side_name[k], l->end[k].engine, tcpx_strerror_name(rc));
	if (rc)
		give_up(w, &l->end[k]);
	if (!rc && k == TX && tcpx_lane_weight(l->end[TX].lane, l->weight))
		sim_fail(w, "a lane cannot have the weight %u", l->weight);
	if (!rc && tcpx_lane_label(l->end[k].lane, (l - w->lane) % 2 ? "odd" : "even"))
		sim_fail(w, "a lane cannot have a label");
	if (w->ops->comm ? rc != -ENOTSUP : rc && k == RX)
		sim_fail(w, "the %s of a lane is opened with %s", side_name[k], tcpx_strerror_name(rc));
}

static uint32_t
oldest(const struct sim_lane *l, int k)
{
	uint32_t n = 0;

	while (n < l->end[k].posted && l->message[n].handle[k].ended)
		n++;
	return n;
}

/* All that are due. */
static void
post(struct sim_world *w, struct sim_lane *l, int k)
{
	struct sim_end *e = &l->end[k];

	while (e->posted < l->count && e->lane && !e->over &&
	       l->message[e->posted].handle[k].post_ns <= now_of(w)) {
		struct sim_message *m = &l->message[e->posted];
		struct sim_handle *h = &m->handle[k];
		int ready = tcpx_lane_ready(e->lane);
		int rc = tcpx_lane_post(e->lane, e->region, m->at[k], k == RX ? m->room : m->len,
					&h->xfer);

		if ((ready || rc == -EAGAIN) && rc != ready && w->fabric)
			sim_fail(w, "a lane is ready by %s and posts by %s",
				 tcpx_strerror_name(ready), tcpx_strerror_name(rc));
		if (rc == -ENOBUFS && e->posted - oldest(l, k) < TCPX_LANE_OPEN)
			sim_fail(w, "a lane with %u messages open takes no more",
				 e->posted - oldest(l, k));
		if (rc == -EAGAIN || rc == -ENOBUFS)
			return;
		if (rc) {
			e->status = rc;
			give_up(w, e);
			return;
		}
		e->posted++;
		h->posted = true;
		if (h->watched)
			tcpx_xfer_watch(h->xfer, h);
	}
}

static void
kill_message(struct sim_world *w, struct sim_lane *l, int k, uint32_t n)
{
	struct sim_handle *h = &l->message[n].handle[k];
	int status = tcpx_test(h->xfer);

	if (status == -EAGAIN) {
		h->killed = l->asked = true;
		l->left |= k == TX;
		status = TCPX_ECANCELED;
		if (h->kill == SIM_CANCEL) {
			tcpx_cancel(h->xfer);
			status = tcpx_test(h->xfer);
		} else {
			tcpx_xfer_free(h->xfer);
			h->xfer = NULL;
		}
		if (status != TCPX_ECANCELED)
			sim_fail(w, "a cancelled message of a lane has %s", tcpx_strerror_name(status));
		if (!tcpx_lane_ready(l->end[k].lane))
			sim_fail(w, "a lane with a cancelled message goes on");
	}
	end_message(w, l, k, n, status);
}

static void
kill_due(struct sim_world *w, struct sim_lane *l, int k)
{
	for (uint32_t n = 0; n < l->end[k].posted; n++) {
		const struct sim_handle *h = &l->message[n].handle[k];

		if (!h->ended && h->kill != SIM_LIVE && h->kill_ns <= now_of(w))
			kill_message(w, l, k, n);
	}
}

static void
close_end(struct sim_world *w, struct sim_lane *l, int k)
{
	struct sim_end *e = &l->end[k];

	sim_work_look(w);
	e->close_ns = SIM_NEVER;
	l->asked |= !e->over && !is_complete(l, k); /* else it closes after a failure */
	l->left |= k == TX && !e->over && !is_complete(l, k);
	e->over = e->opened = true;
	if (!e->lane)
		return;
	if (w->verbose)
		printf("  %8.3f ms lane %d: the %s closes\n", ms_of(w), (int)(l - w->lane), side_name[k]);
	tcpx_lane_close(e->lane);
	e->lane = NULL;
	look(w, l, k, true);
}

static void
deregister(struct sim_world *w, struct sim_lane *l, int k)
{
	struct sim_end *e = &l->end[k];
	int rc;

	sim_work_look(w);
	e->deregister_ns = SIM_NEVER;
	if (closed(w, e))
		return;
	l->asked |= !is_complete(l, k);
	l->left |= k == TX && !e->over && !is_complete(l, k);
	rc = tcpx_mem_deregister(w->engine[e->engine].engine, e->region);
	if (rc)
		sim_fail(w, "deregister gave %s", tcpx_strerror_name(rc));
	e->gone = true;
	overwrite(&l->end[k], 0, e->bytes);
	if (k == RX)
		keep(e, 0, e->bytes);
	look(w, l, k, true);
}

/* A receiver whose sender will never come. */
static bool
is_lonely(const struct sim_lane *l)
{
	return l->end[TX].engine != SIM_NOBODY && l->end[TX].over && l->end[RX].lane && !l->end[RX].over &&
	       tcpx_lane_ready(l->end[RX].lane) == -EAGAIN;
}

void
sim_lanes_do(struct sim_world *w)
{
	uint64_t now = now_of(w);

	for (uint32_t i = 0; i < w->lane_count; i++)
		for (int k = RX; k >= TX; k--) {
			struct sim_lane *l = &w->lane[i];
			struct sim_end *e = &l->end[k];

			if (e->engine == SIM_NOBODY || sim_naps(w, e->engine))
				continue;
			if (!e->opened && e->open_ns <= now && (k == RX || l->end[RX].opened))
				open_end(w, l, k);
			post(w, l, k);
			kill_due(w, l, k);
			if (e->deregister_ns <= now)
				deregister(w, l, k);
			if (e->close_ns <= now || (e->hasty && e->lane && is_complete(l, k)))
				close_end(w, l, k);
			if (k == RX && is_lonely(l))
				give_up(w, e);
		}
}

void
sim_lanes_engine_closed(struct sim_world *w, int engine)
{
	for (uint32_t i = 0; i < w->lane_count; i++)
		for (int k = 0; k < 2; k++) {
			struct sim_lane *l = &w->lane[i];
			struct sim_end *e = &l->end[k];

			if (e->engine != engine)
				continue;
			l->asked |= !is_complete(l, TX) || !is_complete(l, RX);
			l->left |= k == TX && !e->over && !is_complete(l, k);
			e->lane = NULL; /* freed with the engine, as its messages */
			e->over = e->opened = true;
			overwrite(&l->end[k], 0, e->bytes);
			keep(e, 0, k == RX ? e->bytes : 0);
			e->gone = true;
			for (uint32_t n = 0; n < e->posted; n++) {
				l->message[n].handle[k].xfer = NULL;
				if (!l->message[n].handle[k].ended)
					end_message(w, l, k, n, TCPX_ECLOSED);
			}
		}
}

static void
sooner(uint64_t *next, uint64_t ns, uint64_t now)
{
	if (ns > now && ns < *next)
		*next = ns;
}

uint64_t
sim_lanes_next_ns(const struct sim_world *w)
{
	uint64_t next = SIM_NEVER, now = now_of(w);

	for (uint32_t i = 0; i < w->lane_count; i++)
		for (int k = 0; k < 2; k++) {
			const struct sim_lane *l = &w->lane[i];
			const struct sim_end *e = &l->end[k];

			sooner(&next, e->opened ? SIM_NEVER : e->open_ns, now);
			sooner(&next, e->close_ns, now);
			sooner(&next, e->deregister_ns, now);
			if (e->posted < l->count && !e->over)
				sooner(&next, l->message[e->posted].handle[k].post_ns, now);
			for (uint32_t n = 0; n < e->posted; n++)
				if (!l->message[n].handle[k].ended && l->message[n].handle[k].kill)
					sooner(&next, l->message[n].handle[k].kill_ns, now);
		}
	return next;
}

/* ---- ending ---------------------------------------------------------------------- */

static bool
has_ended(const struct sim_lane *l, int k)
{
	const struct sim_end *e = &l->end[k];

	if (e->engine == SIM_NOBODY)
		return true;
	return e->over ? !e->lane && oldest(l, k) == e->posted : oldest(l, k) == l->count;
}

bool
sim_lanes_ended(const struct sim_world *w)
{
	for (uint32_t i = 0; i < w->lane_count; i++)
		for (int k = 0; k < 2; k++)
			if (!has_ended(&w->lane[i], k))
				return false;
	return true;
}

void
sim_lanes_hang(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->lane_count; i++)
		for (int k = 0; k < 2; k++) {
			const struct sim_lane *l = &w->lane[i];

			if (!has_ended(l, k))
				sim_fail(w, "lane %u: the %s never ended: %u of %u messages, %u posted, "
					 "ready is %s", i, side_name[k], oldest(l, k), l->count,
					 l->end[k].posted, !l->end[k].lane ? "closed" :
					 tcpx_strerror_name(tcpx_lane_ready(l->end[k].lane)));
		}
}
