/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When all has ended: nothing failed that was not asked to, what succeeded is what was to be, and each
 * end was reported once. A transfer's bytes are compared when its end is seen.
 */
#include <string.h>

#include "sim/sim.h"

/* ---- transfers and notes --------------------------------------------------------- */

static bool
uses(const struct sim_world *w, const struct sim_list *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		if (w->engine[l->engine].region[l->piece[i].region].frozen)
			return true;
	return w->engine[l->engine].closed;
}

/* A failure that was asked for. */
static bool
may_fail(const struct sim_world *w, const struct sim_xfer *x)
{
	return x->handle[0].killed || x->handle[1].killed || x->dst.total < x->moved ||
	       uses(w, &x->src) || uses(w, &x->dst);
}

/* The network changed so many bits that a chunk may have come wrong each of the five times. */
static bool
by_noise(const struct sim_world *w, int status)
{
	return status == TCPX_EDATA && w->flips && tcpx_fabric_flips(w->fabric) > 20;
}

static void
judge_info(struct sim_world *w, const struct sim_xfer *x, int h)
{
	struct tcpx_xfer_info info = { .struct_size = sizeof(info) };

	if (!x->handle[h].xfer || tcpx_xfer_query(x->handle[h].xfer, &info))
		return;
	if (info.status != x->handle[h].status)
		sim_fail(w, "transfer %u: info says %d, test said %d", x->number, info.status,
			 x->handle[h].status);
	if (info.status == 0 && (info.bytes_total != x->moved || info.bytes_done != x->moved))
		sim_fail(w, "transfer %u%s of %llu bytes: info says %llu of %llu", x->number,
			 h ? " (recv)" : "", (unsigned long long)x->moved,
			 (unsigned long long)info.bytes_done,
			 (unsigned long long)info.bytes_total);
}

static bool
lacks_note(const struct sim_world *w, const struct sim_xfer *x)
{
	return x->has_note && x->handle[0].status == 0 && !x->notes_seen && w->weather != SIM_WILD &&
	       !may_fail(w, x);
}

static bool
is_missed(const struct sim_world *w, const struct sim_note *n)
{
	return !n->rc && !n->seen && w->weather != SIM_WILD && !w->engine[n->from].closed &&
	       !w->engine[n->to].closed;
}

bool
sim_notes_came(const struct sim_world *w)
{
	for (uint32_t i = 0; i < w->xfer_count; i++)
		if (lacks_note(w, &w->xfer[i]))
			return false;
	for (uint32_t i = 0; i < w->note_count; i++)
		if (is_missed(w, &w->note[i]))
			return false;
	return true;
}

static void
judge_xfer(struct sim_world *w, struct sim_xfer *x)
{
	for (int h = 0; h < sim_handle_count(x); h++) {
		const struct sim_handle *handle = &x->handle[h];

		w->totals->xfers++;
		judge_info(w, x, h);
		if (handle->xfer && handle->told != handle->watched)
			sim_fail(w, "transfer %u%s: its end was told %u times", x->number,
				 h ? " (recv)" : "", handle->told);
		if (handle->status == 0) {
			w->totals->done++;
			w->totals->bytes += x->moved;
			if (x->dst.total < x->moved)
				sim_fail(w, "transfer %u fits in a receive too short",
					 x->number);
		} else if (handle->killed) {
			w->totals->cancelled++;
		} else if (may_fail(w, x)) {
			w->totals->failed++;
		} else {
			w->totals->failed_unasked++;
			if (w->weather != SIM_WILD && !by_noise(w, handle->status))
				sim_fail(w, "transfer %u%s failed with %s for no reason",
					 x->number, h ? " (recv)" : "",
					 tcpx_strerror_name(handle->status));
		}
	}
	if (lacks_note(w, x))
		sim_fail(w, "transfer %u succeeded, its note did not come", x->number);
}

void
sim_work_judge(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->xfer_count; i++)
		judge_xfer(w, &w->xfer[i]);
	for (uint32_t i = 0; i < w->note_count; i++) {
		const struct sim_note *n = &w->note[i];

		if (n->rc && n->seen)
			sim_fail(w, "note %u was refused and came", i);
		if (is_missed(w, n))
			sim_fail(w, "note %u did not come", i);
	}
	sim_again_judge(w);
	for (uint32_t i = 0; i < w->xfer_count; i++)
		for (int h = 0; h < 2; h++) {
			tcpx_xfer_free(w->xfer[i].handle[h].xfer);
			w->xfer[i].handle[h].xfer = NULL;
		}
}

/* ---- lanes ----------------------------------------------------------------------- */

static void
judge_message(struct sim_world *w, struct sim_lane *l, int k, uint32_t n)
{
	struct sim_handle *h = &l->message[n].handle[k];
	int status = h->posted ? h->status : l->end[k].status;

	w->totals->messages += h->posted;
	w->totals->messages_done += h->ended && !h->status;
	if ((!h->posted || h->status) && !l->asked && w->weather != SIM_WILD && !by_noise(w, status))
		sim_fail(w, "message %u of %u of a lane, %s: %s for no reason, with %s", n, l->count,
			 k ? "receiver" : "sender", h->posted ? "failed" : "not posted", tcpx_strerror_name(status));
	if (k == 0 && status && !l->left && !sim_is_broken(w) && l->message[n].handle[1].ended &&
	    l->message[n].handle[1].status == 0)
		sim_fail(w, "message %u of a lane was received, and its send failed with %s", n,
			 tcpx_strerror_name(status));
	if (h->xfer && h->told != h->watched)
		sim_fail(w, "message %u of a lane: its end was told %u times", n, h->told);
}

void
sim_lanes_judge(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->lane_count; i++) {
		struct sim_lane *l = &w->lane[i];

		w->totals->lanes++;
		for (int k = 0; k < 2; k++) {
			for (uint32_t n = 0; n < l->count; n++)
				judge_message(w, l, k, n);
			for (uint32_t n = 0; n < l->end[k].posted; n++) {
				tcpx_xfer_free(l->message[n].handle[k].xfer);
				l->message[n].handle[k].xfer = NULL;
			}
			if (sim_one_in(w, 2) || w->babble) {
				tcpx_lane_close(l->end[k].lane);
				l->end[k].lane = NULL;
			}
		}
	}
}

void
sim_lanes_check(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->lane_count; i++) {
		const struct sim_end *e = &w->lane[i].end[1];

		if (e->mem && memcmp(e->mem, e->orig, e->bytes))
			sim_fail(w, "lane %u: a byte changed in no open receive%s", i,
				 e->gone ? ", after its memory was given back" : "");
	}
}
