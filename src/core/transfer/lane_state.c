/* SPDX-License-Identifier: Apache-2.0 */
#include "core/transfer/lane_state.h"

#include <errno.h>
#include <stdlib.h>

#include "core/context/context.h"
#include "core/session/session.h"
#include "core/transfer/label.h"
#include "core/transfer/transfer.h"

void
tcpx_lane_init(struct tcpx_lane *l, struct tcpx_engine *e, bool sends)
{
	l->engine = e;
	l->refs = 1;
	l->sends = sends;
	l->status = -EAGAIN;
	tcpx_node_init(&l->handle);
	tcpx_tagged_init(&l->by_key);
	tcpx_tagged_init(&l->by_word);
	tcpx_node_init(&l->in_session);
	tcpx_node_init(&l->busy);
	tcpx_node_init(&l->waits);
	tcpx_node_init(&l->soon);
}

void
tcpx_lane_named(struct tcpx_lane *l, uint64_t word)
{
	l->word = word;
	tcpx_tags_add(&l->session->lanes.by_word, &l->by_word, word);
}

void
tcpx_lane_put(struct tcpx_lane *l)
{
	if (!l || atomic_fetch_sub(&l->refs, 1) != 1)
		return;
	for (uint32_t i = 0; i < TCPX_LANE_SLOTS; i++)
		free(l->kept[i]); /* of a lane that only its engine has closed */
	tcpx_label_take(l);
	if (l->session)
		tcpx_session_put(l->session);
	free(l);
}

struct tcpx_xfer **
tcpx_lane_slot(struct tcpx_lane *l, uint64_t seq)
{
	return &l->slot[seq % TCPX_LANE_SLOTS];
}

struct tcpx_lane_ring *
tcpx_lane_ring(struct tcpx_lane *l)
{
	return l->sends ? &l->tx.ring : &l->rx.ring;
}

void
tcpx_lane_stands(struct tcpx_lane *l)
{
	l->session->lanes.count.open++;
	if (l->label)
		atomic_fetch_add(&l->label->open, 1);
	atomic_store(&l->status, 0);
}

void
tcpx_lane_falls(struct tcpx_lane *l, int code)
{
	struct lane_count *n = &l->session->lanes.count;

	n->open -= atomic_load(&l->status) == 0;
	n->failed += code != TCPX_ECLOSED;
	if (l->label) {
		atomic_fetch_sub(&l->label->open, atomic_load(&l->status) == 0);
		count_add(&l->label->failed, code != TCPX_ECLOSED);
	}
	atomic_store(&l->status, code);
}

void
tcpx_lane_count(const struct tcpx_xfer *x)
{
	struct lane_count *n = &x->session->lanes.count;
	struct lane_label *label = x->lane->label;

	*(x->sends ? &n->messages_tx : &n->messages_rx) += 1;
	*(x->sends ? &n->bytes_tx : &n->bytes_rx) += x->total;
	if (label) {
		count_add(x->sends ? &label->messages_tx : &label->messages_rx, 1);
		count_add(x->sends ? &label->bytes_tx : &label->bytes_rx, x->total);
	}
}

void
tcpx_lane_leave(struct tcpx_lane *l)
{
	if (!tcpx_node_linked(&l->in_session))
		return;
	tcpx_chain_remove(&l->in_session);
	tcpx_tags_remove(&l->session->lanes.by_word, &l->by_word);
	tcpx_chain_remove(&l->waits);
	tcpx_chain_remove(&l->soon);
	tcpx_lane_put(l);
}

int
tcpx_lane_unlink(struct tcpx_xfer *x)
{
	struct tcpx_lane *l = x->lane;
	uint64_t seq = tcpx_lane_seq(x->id);

	if (*tcpx_lane_slot(l, seq) != x)
		return 0;
	*tcpx_lane_slot(l, seq) = NULL;
	if (x->tx.early && !x->tx.in_flight && !x->tx.applied)
		tcpx_eager_unused(&x->session->lanes.credit, tcpx_eager_cost(x->total));
	tcpx_chain_remove(&x->table);
	tcpx_lane_ring_finish(tcpx_lane_ring(l), seq);
	if (tcpx_lane_ring_open(tcpx_lane_ring(l)) == 0)
		tcpx_chain_remove(&l->busy);
	l->session->lanes.live--;
	if (l->sends && l->tx.ring.done == l->tx.ring.posted && atomic_load(&l->status) != 0)
		tcpx_lane_leave(l); /* its receiver has closed it; the message has a reference */
	return 1;
}

struct tcpx_lane *
tcpx_lane_find(struct session *s, uint64_t word)
{
	struct tcpx_tagged *found = tcpx_tags_find(&s->lanes.by_word, word & ~TCPX_LANE_SEQ);

	return found ? tcpx_container(found, struct tcpx_lane, by_word) : NULL;
}

struct tcpx_xfer *
tcpx_lane_message(struct session *s, uint64_t word)
{
	struct tcpx_lane *l = tcpx_lane_find(s, word);
	const struct early *m = l ? l->kept[tcpx_lane_seq(word) % TCPX_LANE_SLOTS] : NULL;
	struct tcpx_xfer *x = !l ? NULL : m && m->comes ? m->comes : *tcpx_lane_slot(l, tcpx_lane_seq(word));

	return x && x->id == word && tcpx_node_linked(&x->table) ? x : NULL;
}
