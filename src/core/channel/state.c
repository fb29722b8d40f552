/* SPDX-License-Identifier: Apache-2.0 */
#include "core/channel/state.h"

#include <errno.h>
#include <stdlib.h>

#include "core/channel/channel.h"
#include "core/channel/kind.h"
#include "core/context/context.h"
#include "core/session/session.h"

static void
drop_state(struct channel *c)
{
	tcpx_window_fini(&c->window);
	free(c->tx.record);
	free(c->rx.landing);
	free(c->rx.heads.at);
	free(c->wiring);
	c->tx.record = NULL;
	c->rx.landing = NULL;
	c->rx.heads.at = NULL;
	c->wiring = NULL;
}

int
tcpx_channel_state_make(struct channel *c)
{
	const struct session *s = c->session;
	uint32_t limit = s->chan.window;
	bool whole;
	int rc;

	if (s->engine->facts.slots_max && limit > s->engine->facts.slots_max)
		limit = s->engine->facts.slots_max;
	rc = tcpx_window_init(&c->window, limit);
	if (rc)
		return rc;
	c->wiring = calloc(1, sizeof(*c->wiring));
	if (c->sending)
		c->tx.record = calloc(c->window.size, sizeof(*c->tx.record));
	else
		c->rx.landing = calloc(c->window.size, sizeof(*c->rx.landing));
	if (!c->sending && c->kind->heads)
		c->rx.heads.at = calloc(c->window.size, sizeof(*c->rx.heads.at));
	whole = c->wiring && (c->tx.record || c->rx.landing) &&
		(c->sending || !c->kind->heads || c->rx.heads.at);
	if (!whole) {
		drop_state(c);
		return -ENOMEM;
	}
	c->tx.send_seq = c->rx.heads.first = c->rx.heads.next = c->window.next;
	c->state = CHAN_WIRING;
	return 0;
}

int
tcpx_channel_renew(struct channel *c)
{
	struct tcpx_rate rate = c->tx.rate;
	int rc;

	if (c->generation == UINT16_MAX)
		return TCPX_ELIMIT;
	c->fence = (struct fence){ .asked = false };
	c->tx = (struct sender){ .rate = rate };
	c->rx = (struct receiver){ .parked = PARK_NOT };
	rc = tcpx_channel_state_make(c);
	if (rc)
		return rc;
	c->generation++; /* on both sides: what is said of the old one no longer counts */
	c->closed = false;
	c->session->chan.open++;
	return 0;
}
