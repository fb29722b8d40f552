/* SPDX-License-Identifier: Apache-2.0 */
/* What is going on, copied out: counters, channels, threads, NICs, the engine's blob. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

const char *
tcpx_version(void)
{
	return TCPX_VERSION;
}

const char *
tcpx_strerror_name(int code)
{
	return tcpx_err_name(code);
}

const char *
tcpx_strerror(int code)
{
	return tcpx_err_text(code);
}

void
tcpx_last_error(tcpx_engine *e, char *buf, size_t cap)
{
	(void)e;
	tcpx_err_last(buf, cap);
}

uint16_t
tcpx_port(tcpx_engine *e)
{
	return e->listening_count ? e->listening[0].bound.port : 0;
}

int
tcpx_metadata(tcpx_engine *e, void *buf, size_t *len)
{
	uint8_t room[4096];
	struct tcpx_endpoint_blob ep = { .incarnation = e->incarnation };
	struct tcpx_buf b;
	uint32_t i;

	memcpy(ep.name, e->name, sizeof(ep.name));
	for (i = 0; i < e->listening_count; i++) {
		struct tcpx_hello_nic *n = &ep.nic[ep.nic_count++];

		memcpy(n->name, e->nic[i].name, sizeof(n->name));
		n->addr.family = e->listening[i].bound.family;
		n->addr.prefix = e->nic[i].addr.prefix;
		memcpy(n->addr.ip, e->listening[i].bound.ip, 16);
		n->scope = e->listening[i].bound.scope;
		n->port = e->listening[i].bound.port;
	}
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_endpoint_blob_write(&b, &ep);
	if (b.bad)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_ELIMIT, "blob of %u NICs is above 4 KiB",
				 ep.nic_count);
	if (!buf || *len < b.pos) {
		*len = b.pos;
		return -ENOBUFS;
	}
	memcpy(buf, room, b.pos);
	*len = b.pos;
	return 0;
}

static uint64_t
session_memory(struct session *s)
{
	uint64_t sum = sizeof(*s) + tcpx_ctrl_memory(s->ctrl);
	uint32_t k;

	for (k = 0; k < s->channels; k++) {
		if (s->tx[k])
			sum += sizeof(struct channel) +
			       s->tx[k]->window.size *
				       (sizeof(struct tx_record) + sizeof(struct tcpx_slot));
		if (s->rx[k])
			sum += sizeof(struct channel) +
			       s->rx[k]->window.size *
				       (sizeof(struct rx_record) + sizeof(struct tcpx_slot));
	}
	return sum;
}

int
tcpx_query(tcpx_engine *e, struct tcpx_counters *out)
{
	struct tcpx_counters full = { .struct_size = out->struct_size };
	const struct counters *n = &e->count;
	struct session *s = NULL;

	if (out->struct_size < sizeof(full.struct_size) || out->struct_size > sizeof(full))
		return tcpx_fail(TCPX_SUB_INIT, -EINVAL,
				 "tcpx_counters of %zu bytes, this library knows %zu",
				 out->struct_size, sizeof(full));
#define COPY(field) full.field = atomic_load_explicit(&n->field, memory_order_relaxed)
	COPY(bytes_tx);
	COPY(bytes_rx);
	COPY(chunks_tx);
	COPY(chunks_rx);
	COPY(xfers_posted);
	COPY(xfers_done);
	COPY(xfers_failed);
	COPY(notes_tx);
	COPY(notes_rx);
	COPY(notes_dropped);
	COPY(ctrl_frames_tx);
	COPY(ctrl_frames_rx);
	COPY(ctrl_resumes);
	COPY(channels_lost);
	COPY(chunks_resent);
	COPY(stalls);
	COPY(refused);
	COPY(queue_ns);
	COPY(wire_ns);
	COPY(ack_ns);
	COPY(unpack_ns);
	COPY(lease_borrows);
#undef COPY
	pthread_mutex_lock(&e->regions.lock);
	full.regions = e->regions.live;
	pthread_mutex_unlock(&e->regions.lock);
	full.memory_bytes = sizeof(*e) + e->loop_count * sizeof(struct loop);
	while ((s = tcpx_engine_session_after(e, s))) {
		pthread_mutex_lock(&s->lock);
		full.memory_bytes += session_memory(s);
		full.sessions++;
		pthread_mutex_unlock(&s->lock);
	}
	memcpy(out, &full, out->struct_size);
	return 0;
}

void
tcpx_channel_describe(const struct channel *c, struct tcpx_channel_info *o)
{
	struct tcpx_chan_stats st = { .incoming_cpu = -1 };

	memset(o, 0, sizeof(*o));
	o->session = c->session->id;
	memcpy(o->peer, c->session->peer->name, sizeof(o->peer));
	memcpy(o->nic, c->near_name, sizeof(o->nic));
	memcpy(o->peer_nic, c->far_name, sizeof(o->peer_nic));
	o->index = c->index;
	o->generation = c->generation;
	o->sending = c->sending;
	o->up = c->state == CHAN_UP;
	o->bytes = c->bytes;
	o->chunks = c->chunks;
	o->stalls = c->stalls;
	o->in_flight = c->outstanding;
	o->in_flight_max = c->in_flight_max;
	o->in_flight_sum = c->in_flight_sum;
	o->rate_Bps = c->rate.Bps;
	o->loop = c->loop->index;
	o->incoming_cpu = -1;
	if (c->state == CHAN_UP && c->chan &&
	    c->session->engine->ops->chan_stats(c->chan, &st) == 0) {
		o->retransmits = st.retransmits;
		o->rtt_us = st.rtt_us;
		o->lent_bytes = st.lent_bytes;
		o->incoming_cpu = st.incoming_cpu;
		o->napi_id = st.napi_id;
		if (st.lend != TCPX_LEND_AUTO)
			snprintf(o->tx_mode, sizeof(o->tx_mode), "%s", tcpx_lend_name(st.lend));
	}
}

int
tcpx_query_channels(tcpx_engine *e, struct tcpx_channel_info *out, size_t *count)
{
	struct session *s = NULL;
	uint32_t k;
	size_t have = 0, cap = *count;

	while ((s = tcpx_engine_session_after(e, s))) {
		/* a connection is closed only after it was taken out under this lock */
		pthread_mutex_lock(&s->lock);
		for (k = 0; s->state == SESS_OPEN && k < 2 * s->channels; k++) {
			struct channel *c = k < s->channels ? s->tx[k] : s->rx[k - s->channels];

			if (!c)
				continue;
			if (have < cap)
				tcpx_channel_describe(c, &out[have]);
			have++;
		}
		pthread_mutex_unlock(&s->lock);
	}
	*count = have;
	return 0;
}

int
tcpx_query_threads(tcpx_engine *e, struct tcpx_thread_info *out, size_t *count)
{
	size_t i, cap = *count;

	for (i = 0; i < e->loop_count && i < cap; i++) {
		memset(&out[i], 0, sizeof(out[i]));
		snprintf(out[i].name, sizeof(out[i].name), "tcpx-io-%u", (unsigned)i & 0xff);
		out[i].tid = atomic_load(&e->loop[i].tid);
		pthread_mutex_lock(&e->loop[i].work_lock);
		memcpy(out[i].requested, e->loop[i].requested, sizeof(out[i].requested));
		memcpy(out[i].granted, e->loop[i].granted, sizeof(out[i].granted));
		pthread_mutex_unlock(&e->loop[i].work_lock);
	}
	*count = e->loop_count;
	return 0;
}

int
tcpx_query_nics(tcpx_engine *e, struct tcpx_nic_info *out, size_t *count)
{
	size_t i, cap = *count;

	for (i = 0; i < e->nic_count && i < cap; i++) {
		memset(&out[i], 0, sizeof(out[i]));
		memcpy(out[i].name, e->nic[i].name, sizeof(out[i].name));
		tcpx_addr_format(&e->nic[i].addr, out[i].addr, sizeof(out[i].addr));
		out[i].numa = e->nic[i].numa;
		out[i].gbps = e->nic[i].gbps;
	}
	*count = e->nic_count;
	return 0;
}
