/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/gone.h"

#include <errno.h>

#include "core/context/context.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/session/twins.h"

#define FIRST_NS (1000 * TCPX_MS) /* between rounds of refusals, at first contact */

void
tcpx_session_peer_gone(struct session *s, const char *why)
{
	uint64_t incarnation = s->peer->incarnation;
	struct registry *r = &s->engine->registry;

	tcpx_session_fail(s, TCPX_EPEERGONE, "%s", why);
	pthread_mutex_lock(&r->lock);
	tcpx_chain_each(n, after, peer_bucket(r, incarnation)) {
		struct tcpx_peer *p = tcpx_container(n, struct tcpx_peer, in_bucket);

		pthread_mutex_lock(&p->lock);
		if (incarnation && p->incarnation == incarnation) {
			atomic_store(&p->dead, true);
			if (p->out)
				tcpx_session_wake_loop(p->out);
			tcpx_chain_each(k, after2, &p->inbound)
				tcpx_session_wake_loop(tcpx_container(k, struct session, in_peer));
		}
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&r->lock);
}

/* The peer is on this host, and its kernel knows: none of its listeners is left. A firewall
 * that refuses leaves them. */
static bool
listens_no_more(const struct session *s)
{
	const struct tcpx_net_ops *ops = s->engine->ops;
	struct tcpx_peer *p = s->peer;
	bool none = s->same_host && ops->listens;

	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; none && i < p->addr_count; i++)
		none = ops->listens(&p->addr[i]) == 0;
	pthread_mutex_unlock(&p->lock);
	return none;
}

bool
tcpx_control_misses_peer(struct session *s, int rc, uint32_t addr_count, uint64_t now_ns)
{
	bool closed = s->control.closed ||
		      tcpx_ended_together(s->chan.closed_ns, s->control.cut_ns);
	uint64_t apart_ns = s->state == SESS_OPEN ?
				    tcpx_rounds_apart(closed, s->engine->limit.stall_ns) :
				    FIRST_NS;

	if (rc != -ECONNREFUSED) {
		s->control.refusals.row = 0;
		return false;
	}
	if (s->state == SESS_OPEN && listens_no_more(s)) {
		tcpx_session_peer_gone(s, "peer has gone: no process of this host listens at its addresses");
		return true;
	}
	if ((s->state != SESS_OPEN && (!s->peer->incarnation || tcpx_twins_rest(s, now_ns))) ||
	    !tcpx_refused_again(&s->control.refusals, addr_count, apart_ns,
				atomic_load(&s->engine->nics.one_down), now_ns))
		return false;
	tcpx_session_peer_gone(s, "peer has gone: nobody listens at its addresses");
	return true;
}
