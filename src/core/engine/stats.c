/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's report for tcpx top. Numbers are copied under a session's lock and become
 * text without it: threads that move data wait for a copy, never for a text.
 */
#include "core/engine/stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "core/channel/channel.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/memory.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "net/stats_port.h"

#define SCHEMA       1
#define CHANNELS_MAX 1024 /* listed one by one: 128 are 34 KB and 1 ms; sums are of all */

struct stats {
	struct source source;
	struct tcpx_engine *engine;
	struct tcpx_stats_port port;
	uint64_t opened_ns;
	/* the last report: a connection that closes between two looks at the sum may be in
	 * neither, and a counter must not fall */
	uint64_t reported_retransmits[TCPX_NET_NICS];
};

/* One channel, copied out. */
struct seen {
	struct tcpx_channel_info info;
	uint64_t waiting_bytes; /* outstanding */
	uint32_t window;
	int gpu, nic;
};

/* Sums over the present channels. */
struct nic_now {
	uint64_t retransmits, rtt_us; /* rtt: the longest */
	uint32_t channels, in_flight;
	uint64_t in_flight_bytes;
};

struct writer {
	struct tcpx_text text;
	struct tcpx_engine *engine;
	struct seen *seen; /* room for 2 * TCPX_CHANNELS_MAX */
	struct nic_now nic[TCPX_NET_NICS];
	uint32_t listed, left_out; /* channels */
};

static const char *const state_name[] = {
	[SESS_CONNECTING] = "connecting", [SESS_HELLO] = "hello",   [SESS_AUTH] = "auth",
	[SESS_HANDLES] = "handles",       [SESS_WIRING] = "wiring", [SESS_READY] = "ready",
	[SESS_OPEN] = "open",             [SESS_FAILED] = "failed",
};

static void
add_name(struct tcpx_text *t, const char *key, const char *value)
{
	tcpx_text_add(t, "\"%s\":", key);
	tcpx_text_quote(t, value);
	tcpx_text_add(t, ",");
}

static void
add_number(struct tcpx_text *t, const char *key, uint64_t value)
{
	tcpx_text_add(t, "\"%s\":%llu,", key, (unsigned long long)value);
}

/* -1, unknown or host memory, becomes null. */
static void
add_maybe(struct tcpx_text *t, const char *key, int value)
{
	if (value < 0)
		tcpx_text_add(t, "\"%s\":null,", key);
	else
		add_number(t, key, (uint64_t)value);
}

/* Replaces the comma behind the last member or element by the end. */
static void
end(struct tcpx_text *t, const char *with)
{
	if (!t->bad && t->len && t->at[t->len - 1] == ',')
		t->at[--t->len] = '\0';
	tcpx_text_add(t, "%s", with);
}

/* ---- sessions ---- */

static void
write_channel(struct writer *w, const struct seen *c)
{
	struct tcpx_text *t = &w->text;
	const struct tcpx_channel_info *o = &c->info;

	tcpx_text_add(t, "{\"sending\":%s,\"up\":%s,", o->sending ? "true" : "false",
		      o->up ? "true" : "false");
	add_number(t, "index", o->index);
	add_number(t, "generation", o->generation);
	add_name(t, "nic", o->nic);
	add_name(t, "peer_nic", o->peer_nic);
	add_maybe(t, "gpu", c->gpu);
	add_number(t, "bytes", o->bytes);
	add_number(t, "chunks", o->chunks);
	add_number(t, "in_flight", o->in_flight);
	add_number(t, "in_flight_bytes", c->waiting_bytes);
	add_number(t, "window", c->window);
	add_number(t, "retransmits", o->retransmits);
	add_number(t, "rtt_us", o->rtt_us);
	add_number(t, "stalls", o->stalls);
	add_number(t, "rate_Bps", o->rate_Bps);
	add_number(t, "loop", o->loop);
	add_name(t, "tx_mode", o->tx_mode);
	add_number(t, "lent_bytes", o->lent_bytes);
	end(t, "},");
}

/* lock held. */
static void
copy_channel(const struct channel *c, struct seen *to)
{
	tcpx_channel_describe(c, &to->info);
	to->waiting_bytes = c->tx.outstanding_bytes;
	to->window = c->window.size;
	to->gpu = c->gpu;
	to->nic = c->near_nic;
}

/* Each connection costs a system call, so the lock is released after each. */
static uint32_t
copy_channels(struct session *s, struct seen *seen)
{
	uint32_t k, n = 0;
	bool more = true;

	for (k = 0; more; k++) {
		const struct channel *c = NULL;

		pthread_mutex_lock(&s->lock);
		more = s->state == SESS_OPEN && k < 2 * s->chan.count;
		if (more)
			c = k < s->chan.count ? s->chan.tx[k] : s->chan.rx[k - s->chan.count];
		if (c)
			copy_channel(c, &seen[n++]);
		pthread_mutex_unlock(&s->lock);
	}
	return n;
}

static void
count_nic(struct writer *w, const struct seen *c)
{
	struct nic_now *n = &w->nic[c->nic];

	n->retransmits += c->info.retransmits;
	n->channels += c->info.up != 0;
	n->in_flight += c->info.in_flight;
	n->in_flight_bytes += c->waiting_bytes;
	if (c->info.rtt_us > n->rtt_us)
		n->rtt_us = c->info.rtt_us;
}

static void
write_session(struct writer *w, struct session *s)
{
	struct tcpx_text *t = &w->text;
	char peer[TCPX_NAME_MAX] = "";
	uint64_t id, queued, outstanding;
	uint32_t channels, open, i;
	bool opener;
	int state;

	channels = copy_channels(s, w->seen);
	pthread_mutex_lock(&s->lock);
	if (s->peer) {
		pthread_mutex_lock(&s->peer->lock);
		memcpy(peer, s->peer->name, sizeof(peer));
		pthread_mutex_unlock(&s->peer->lock);
	}
	id = s->id;
	opener = s->opener;
	state = s->state;
	open = s->xfers.live;
	queued = s->sched.queued_bytes;
	outstanding = s->sched.outstanding_bytes;
	pthread_mutex_unlock(&s->lock);

	tcpx_text_add(t, "{\"id\":\"%016llx\",\"opener\":%s,", (unsigned long long)id,
		      opener ? "true" : "false");
	add_name(t, "peer", peer);
	add_name(t, "state", state_name[state]);
	add_number(t, "transfers", open);
	add_number(t, "queued_bytes", queued);
	add_number(t, "in_flight_bytes", outstanding);
	tcpx_text_add(t, "\"channels\":[");
	for (i = 0; i < channels; i++) {
		count_nic(w, &w->seen[i]);
		if (w->listed == CHANNELS_MAX) {
			w->left_out++;
			continue;
		}
		write_channel(w, &w->seen[i]);
		w->listed++;
	}
	end(t, "]},");
}

/* References to all sessions, so that each is reported once. */
static struct session **
all_sessions(struct tcpx_engine *e, uint32_t *count)
{
	uint32_t cap = atomic_load(&e->registry.session_count) + 8, n = 0;
	struct session **all = calloc(cap, sizeof(*all));

	if (!all)
		return NULL;
	pthread_mutex_lock(&e->registry.lock);
	tcpx_chain_each(at, after, &e->registry.sessions) {
		if (n == cap)
			break;
		all[n] = tcpx_container(at, struct session, in_engine);
		tcpx_session_get(all[n++]);
	}
	pthread_mutex_unlock(&e->registry.lock);
	*count = n;
	return all;
}

static int
write_sessions(struct writer *w)
{
	struct session **all;
	uint32_t i, n;

	all = all_sessions(w->engine, &n);
	if (!all)
		return -ENOMEM;
	tcpx_text_add(&w->text, "\"sessions\":[");
	for (i = 0; i < n; i++) {
		write_session(w, all[i]);
		tcpx_session_put(all[i]);
	}
	end(&w->text, "],");
	add_number(&w->text, "channels_left_out", w->left_out);
	free(all);
	return 0;
}

/* ---- the engine ---- */

static void
write_totals(struct writer *w)
{
	const struct counters *n = &w->engine->count;
	struct tcpx_text *t = &w->text;

	tcpx_text_add(t, "\"totals\":{");
#define ADD(field) add_number(t, #field, atomic_load_explicit(&n->field, memory_order_relaxed))
	ADD(bytes_tx);
	ADD(bytes_rx);
	ADD(chunks_tx);
	ADD(chunks_rx);
	ADD(xfers_posted);
	ADD(xfers_done);
	ADD(xfers_failed);
	ADD(notes_tx);
	ADD(notes_rx);
	ADD(notes_dropped);
	ADD(ctrl_resumes);
	ADD(channels_lost);
	ADD(chunks_resent);
	ADD(refused);
#undef ADD
	add_number(t, "sessions_stalled", atomic_load(&n->stalls));
	end(t, "},");
}

static void
write_nics(struct writer *w)
{
	struct tcpx_engine *e = w->engine;
	struct tcpx_text *t = &w->text;
	char addr[64];
	uint32_t i;

	tcpx_text_add(t, "\"nics\":[");
	for (i = 0; i < e->nics.count; i++) {
		const struct nic_now *now = &w->nic[i];
		const struct nic_count *sum = &e->nics.sum[i];
		uint64_t retransmits = atomic_load(&sum->retransmits) + now->retransmits;

		if (e->stats && e->stats->reported_retransmits[i] > retransmits)
			retransmits = e->stats->reported_retransmits[i];
		else if (e->stats)
			e->stats->reported_retransmits[i] = retransmits;
		tcpx_addr_format(&e->nics.at[i].addr, addr, sizeof(addr));
		tcpx_text_add(t, "{");
		add_name(t, "name", e->nics.at[i].name);
		add_name(t, "addr", addr);
		add_maybe(t, "numa", e->nics.at[i].numa);
		add_maybe(t, "gbps", e->nics.at[i].gbps ? (int)e->nics.at[i].gbps : -1);
		add_maybe(t, "gpu", e->nics.at[i].gpu);
		add_number(t, "bytes_tx", atomic_load(&sum->bytes_tx));
		add_number(t, "bytes_rx", atomic_load(&sum->bytes_rx));
		add_number(t, "channels", now->channels);
		add_number(t, "in_flight", now->in_flight);
		add_number(t, "in_flight_bytes", now->in_flight_bytes);
		add_number(t, "retransmits", retransmits);
		add_number(t, "stalls", atomic_load(&sum->stalls));
		add_number(t, "rtt_us", now->rtt_us);
		end(t, "},");
	}
	end(t, "],");
}

/* GPUs that have copied something; host memory in a provider's slots does not count. */
static void
write_gpus(struct writer *w)
{
	struct tcpx_text *t = &w->text;
	uint64_t packed, unpacked;
	int gpu;

	tcpx_text_add(t, "\"gpus\":[");
	for (gpu = 0; gpu < TCPX_GPUS_MAX; gpu++) {
		packed = atomic_load(&w->engine->memory->copied[TCPX_FLOW_PACK][gpu + 1]);
		unpacked = atomic_load(&w->engine->memory->copied[TCPX_FLOW_UNPACK][gpu + 1]);
		if (!packed && !unpacked)
			continue;
		tcpx_text_add(t, "{");
		add_number(t, "gpu", (uint64_t)gpu);
		add_number(t, "bytes_packed", packed);
		add_number(t, "bytes_unpacked", unpacked);
		end(t, "},");
	}
	end(t, "],");
}

static void
write_threads(struct writer *w)
{
	struct tcpx_text *t = &w->text;
	char requested[64], granted[64];
	uint32_t i;

	tcpx_text_add(t, "\"threads\":[");
	for (i = 0; i < w->engine->loop_count; i++) {
		struct loop *l = &w->engine->loop[i];

		pthread_mutex_lock(&l->queue.lock);
		memcpy(requested, l->thread.requested, sizeof(requested));
		memcpy(granted, l->thread.granted, sizeof(granted));
		pthread_mutex_unlock(&l->queue.lock);
		tcpx_text_add(t, "{\"name\":\"tcpx-io-%u\",", i);
		add_number(t, "tid", (uint64_t)atomic_load(&l->thread.tid));
		add_name(t, "requested", requested);
		add_name(t, "granted", granted);
		end(t, "},");
	}
	end(t, "],");
}

static int
snapshot(struct tcpx_engine *e, char **text, size_t *len)
{
	struct writer w = { .engine = e };
	struct tcpx_text *t = &w.text;
	uint64_t now_ns = engine_now(e);
	int rc;

	w.seen = calloc(2 * TCPX_CHANNELS_MAX, sizeof(*w.seen));
	if (!w.seen)
		return -ENOMEM;
	tcpx_text_add(t, "{\"schema\":%d,\"version\":\"%s\",\"provider\":\"%s\",", SCHEMA,
		      TCPX_VERSION, e->ops->name);
	add_name(t, "name", e->name);
	add_number(t, "pid", (uint64_t)getpid());
	tcpx_text_add(t, "\"incarnation\":\"%016llx\",", (unsigned long long)e->incarnation);
	add_number(t, "time_ns", now_ns);
	add_number(t, "uptime_ns", e->stats ? now_ns - e->stats->opened_ns : 0);
	write_totals(&w);
	rc = write_sessions(&w);
	write_nics(&w);
	write_gpus(&w);
	write_threads(&w);
	end(t, "}\n");
	free(w.seen);
	*len = t->len;
	if (rc)
		tcpx_text_drop(t);
	return rc ? rc : tcpx_text_detach(t, text);
}

/* ---- the port ---- */

static void
asked(struct source *src, unsigned ready, uint64_t now_ns)
{
	struct stats *s = tcpx_container(src, struct stats, source);
	int conn = tcpx_stats_port_accept(&s->port);
	char *text = NULL;
	size_t len = 0;

	if (conn < 0)
		return;
	if (snapshot(s->engine, &text, &len) < 0)
		len = 0; /* no memory: an empty answer */
	tcpx_stats_port_answer(conn, text, len);
	free(text);
}

/* The directory of TCPX_STATS, or the first usable one of the usual places. */
static int
open_port(struct stats *s, const char *where, char dir[TCPX_STATS_PATH])
{
	uint64_t incarnation = s->engine->incarnation;
	int rc = -ENOENT;
	unsigned i;

	if (where[0] == '/') {
		snprintf(dir, TCPX_STATS_PATH, "%s", where);
		return tcpx_stats_port_open(&s->port, where, incarnation);
	}
	for (i = 0; rc && tcpx_stats_candidate(i, dir); i++)
		if (dir[0])
			rc = tcpx_stats_port_open(&s->port, dir, incarnation);
	return rc;
}

int
tcpx_stats_open(struct tcpx_engine *e)
{
	const char *where = tcpx_cfg_str(e->cfg, TCPX_SET_STATS);
	char dir[TCPX_STATS_PATH];
	struct stats *s;
	int rc;

	if (where[0] != '/' && strcmp(where, "auto") != 0 && strcmp(where, "off") != 0)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "TCPX_STATS=%s; allowed are auto, off, and a directory from / on",
				 where);
	if (strcmp(where, "off") == 0 || !e->ops->poller_watch_fd)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->source.on_ready = asked;
	s->engine = e;
	s->opened_ns = engine_now(e);
	rc = open_port(s, where, dir);
	if (rc == 0) {
		e->stats = s;
		if (e->ops->poller_watch_fd(e->loop[0].poller, s->port.fd, &s->source) < 0)
			tcpx_stats_close(e); /* logged */
		return 0;
	}
	free(s);
	tcpx_info(TCPX_SUB_INIT, "no socket for tcpx top in %s: %s", dir, strerror(-rc));
	return 0;
}

void
tcpx_stats_close(struct tcpx_engine *e)
{
	if (!e->stats)
		return;
	tcpx_stats_port_close(&e->stats->port);
	free(e->stats);
	e->stats = NULL;
}
