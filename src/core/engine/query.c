/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public calls of tcpx/tcpx.h that copy out state of an engine: counters, channels, threads, NICs,
 * the last error, and the blob with its addresses (tcpx_metadata()).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/figures.h"
#include "core/channel/channel.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/memory.h"
#include "core/memory/region.h"
#include "core/session/accept.h"
#include "core/session/kept.h"
#include "core/session/listen.h"
#include "core/session/session.h"

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

enum tcpx_err_group
tcpx_err_group(int code)
{
	return tcpx_err_group_of(code);
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
	return e->listeners->count ? e->listeners->at[0].bound.port : 0;
}

int
tcpx_metadata(tcpx_engine *e, void *buf, size_t *len)
{
	uint8_t room[4096];
	struct tcpx_endpoint_blob ep = { .incarnation = e->incarnation };
	struct tcpx_buf b;
	uint32_t i;

	if (e->listeners->count == 0)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_ESTATE, "this engine listens nowhere "
				 "(TCPX_PORT=off): no peer can connect to it");
	memcpy(ep.name, e->name, sizeof(ep.name));
	for (i = 0; i < e->listeners->advertised && i < TCPX_NICS_MAX; i++) {
		struct tcpx_hello_nic *n = &ep.nic[ep.nic_count++];

		snprintf(n->offer.name, sizeof(n->offer.name), "%s", e->listeners->at[i].nic);
		n->addr = tcpx_listen_advertised(e, &e->listeners->at[i].bound);
	}
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_endpoint_blob_write(&b, &ep);
	if (b.bad)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_ELIMIT, "blob of %u NICs is above 4 KiB",
				 ep.nic_count);
	if (!buf || *len < b.pos) {
		*len = b.pos;
		return tcpx_fail_known(-ENOBUFS, "the blob of this engine has %zu bytes", b.pos);
	}
	memcpy(buf, room, b.pos);
	*len = b.pos;
	return 0;
}

static uint64_t
session_memory(struct session *s)
{
	uint64_t sum = sizeof(*s) + tcpx_ctrl_memory(s->control.ctrl);
	uint32_t k;

	for (k = 0; k < s->chan.count; k++) {
		if (s->chan.tx[k])
			sum += sizeof(struct channel) +
			       s->chan.tx[k]->window.size *
				       (sizeof(struct tx_record) + sizeof(struct tcpx_slot));
		if (s->chan.rx[k])
			sum += sizeof(struct channel) +
			       s->chan.rx[k]->window.size *
				       (sizeof(struct rx_record) + sizeof(struct tcpx_slot));
	}
	return sum;
}

int
tcpx_query(tcpx_engine *e, struct tcpx_counters *out)
{
	struct tcpx_counters full = { .struct_size = out->struct_size };
	const _Atomic uint64_t *first = &e->count.bytes_tx;
	struct session *s = NULL;

	if (out->struct_size < sizeof(full.struct_size) || out->struct_size > sizeof(full))
		return tcpx_fail(TCPX_SUB_INIT, -EINVAL,
				 "tcpx_counters of %zu bytes, this library knows %zu",
				 out->struct_size, sizeof(full));
	_Static_assert(sizeof(struct counters) == offsetof(struct tcpx_counters, sessions) -
		       offsetof(struct tcpx_counters, bytes_tx), "sums in the public order");
	full.channels_suspected = atomic_load(&e->healing.suspected);
	full.channels_healed = atomic_load(&e->healing.healed);
	full.chunks_corrupt = atomic_load(&e->corrupt.chunks);
	full.frames_corrupt = atomic_load(&e->corrupt.frames);
	shape_each(f, &tcpx_totals_figures)
		if ((f->use & FIGURE_SUM) && f->offset < offsetof(struct tcpx_counters, sessions))
			*(uint64_t *)((char *)&full + f->offset) = atomic_load_explicit(
				&first[(f->offset - offsetof(struct tcpx_counters, bytes_tx)) /
				       sizeof(*first)], memory_order_relaxed);
	pthread_mutex_lock(&e->memory->regions.lock);
	full.regions = e->memory->regions.live;
	pthread_mutex_unlock(&e->memory->regions.lock);
	full.memory_bytes = sizeof(*e) + e->loop_count * sizeof(struct loop) +
			    tcpx_quota_used(&e->kept) + atomic_load(&e->pot->own);
	while ((s = tcpx_session_after(e, s))) {
		pthread_mutex_lock(&s->lock);
		full.memory_bytes += session_memory(s);
		full.sessions++;
		pthread_mutex_unlock(&s->lock);
	}
	memcpy(out, &full, out->struct_size);
	return 0;
}

/* Entry @i of a caller's array, whose entries may be those of an older or a newer header. */
static void
put(void *out, size_t i, size_t stride, const void *entry, size_t size)
{
	char *to = (char *)out + i * stride;

	memcpy(to, entry, size < stride ? size : stride);
	if (stride > size)
		memset(to + size, 0, stride - size);
}

int
tcpx_query_channels(tcpx_engine *e, struct tcpx_channel_info *out, size_t stride,
		    size_t *count)
{
	struct tcpx_channel_info one;
	struct session *s = NULL;
	uint32_t k;
	size_t have = 0, cap = *count;

	while ((s = tcpx_session_after(e, s))) {
		/* a connection is closed only after it was taken out under this lock */
		pthread_mutex_lock(&s->lock);
		for (k = 0; s->state == SESS_OPEN && k < 2 * s->chan.count; k++) {
			struct channel *c = k < s->chan.count ? s->chan.tx[k] :
								s->chan.rx[k - s->chan.count];

			if (!c)
				continue;
			if (have++ >= cap)
				continue;
			tcpx_channel_describe(c, &one);
			put(out, have - 1, stride, &one, sizeof(one));
		}
		pthread_mutex_unlock(&s->lock);
	}
	*count = have;
	return 0;
}

int
tcpx_query_threads(tcpx_engine *e, struct tcpx_thread_info *out, size_t stride,
		    size_t *count)
{
	size_t i, cap = *count;

	for (i = 0; i < e->loop_count && i < cap; i++) {
		struct tcpx_thread_info one = { .tid = atomic_load(&e->loop[i].thread.tid) };

		snprintf(one.name, sizeof(one.name), "tcpx-io-%u", (unsigned)i & 0xff);
		pthread_mutex_lock(&e->loop[i].queue.lock);
		memcpy(one.requested, e->loop[i].thread.requested, sizeof(one.requested));
		memcpy(one.granted, e->loop[i].thread.granted, sizeof(one.granted));
		pthread_mutex_unlock(&e->loop[i].queue.lock);
		put(out, i, stride, &one, sizeof(one));
	}
	*count = e->loop_count;
	return 0;
}

int
tcpx_query_nics(tcpx_engine *e, struct tcpx_nic_info *out, size_t stride,
		 size_t *count)
{
	size_t i, cap = *count;

	for (i = 0; i < e->nics.count && i < cap; i++) {
		struct tcpx_nic_info one = { .numa = e->nics.at[i].numa,
					     .gbps = e->nics.at[i].mbps / 1000,
					     .mbps = e->nics.at[i].mbps };

		memcpy(one.name, e->nics.at[i].name, sizeof(one.name));
		tcpx_addr_format(&e->nics.at[i].addr, one.addr, sizeof(one.addr));
		put(out, i, stride, &one, sizeof(one));
	}
	*count = e->nics.count;
	return 0;
}
