/* SPDX-License-Identifier: Apache-2.0 */
/* Waking a session's sending channels. */
#include "core/channel/wake.h"

#include "core/channel/channel.h"
#include "core/channel/kind.h"
#include "core/loop/loop.h"
#include "core/memory/late.h"
#include "core/session/session.h"

void
tcpx_channels_wake_all(struct session *s)
{
	uint32_t k;

	for (k = 0; k < s->chan.count; k++)
		if (s->chan.tx[k] && s->chan.tx[k]->state == CHAN_UP)
			tcpx_loop_post(s->chan.tx[k]->loop, &s->chan.tx[k]->work);
}

bool
tcpx_channel_usable(const struct channel *c)
{
	return !c->kind->slot || !tcpx_late_reaches(&c->client, TCPX_ON_HOST);
}

void
tcpx_channels_wake_usable(struct session *s)
{
	for (uint32_t k = 0; k < s->chan.count; k++) {
		struct channel *c = s->chan.tx[k];

		if (c && c->state == CHAN_UP && tcpx_channel_usable(c))
			tcpx_loop_post(c->loop, &c->work);
	}
}

/* Waking a sleeping thread takes the waker 5 to 25 us on a virtual machine. So a
 * thread with chunks for many channels wakes two, and each of these, with its first
 * chunk, two more. */
#define WAKE_MAX 2

void
tcpx_channels_wake(struct session *s, uint32_t want)
{
	uint32_t i, sleepers = 0;

	s->sched.wake_more = 0;
	for (i = 0; i < s->chan.count && want > 0; i++) {
		struct channel *c = s->chan.tx[(s->sched.next_wake + i) % s->chan.count];

		if (!c || c->state != CHAN_UP)
			continue;
		want--;
		if (c->tx.outstanding == 0 && atomic_load(&c->loop->asleep) && ++sleepers > WAKE_MAX)
			s->sched.wake_more++;
		else
			tcpx_loop_post(c->loop, &c->work);
	}
}

void
tcpx_channels_end(struct session *s)
{
	uint32_t i;

	for (i = 0; i < TCPX_CHANNELS_MAX; i++) {
		/* a closed one may be freed with the session before its loop looks */
		if (s->chan.tx[i] && !s->chan.tx[i]->closed)
			tcpx_loop_post(s->chan.tx[i]->loop, &s->chan.tx[i]->work);
		if (s->chan.rx[i] && !s->chan.rx[i]->closed)
			tcpx_loop_post(s->chan.rx[i]->loop, &s->chan.rx[i]->work);
	}
}
