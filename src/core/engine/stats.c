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

#include "base/figures.h"
#include "base/text.h"
#include "core/channel/channel.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/memory.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/transfer/lane_state.h"
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

struct writer {
	struct tcpx_text text;
	struct tcpx_engine *engine;
	struct channel_figures *seen; /* room for 2 * TCPX_CHANNELS_MAX */
	struct nic_figures nic[TCPX_NET_NICS];
	struct label_figures other, label[TCPX_LANE_LABELS];
	uint32_t listed, left_out; /* channels */
};

static const char *const state_name[] = {
	[SESS_CONNECTING] = "connecting", [SESS_PROOF] = "proof",   [SESS_HELLO] = "hello",
	[SESS_HANDLES] = "handles",       [SESS_WIRING] = "wiring", [SESS_READY] = "ready",
	[SESS_OPEN] = "open",             [SESS_FAILED] = "failed",
};

static void
add_number(struct tcpx_text *t, const char *key, uint64_t value)
{
	tcpx_text_add(t, "\"%s\":%llu,", key, (unsigned long long)value);
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

/* One object of a list. */
static void
write_object(struct writer *w, const struct shape *figures, const void *object)
{
	tcpx_text_add(&w->text, "{");
	tcpx_figures_report(&w->text, figures, object);
	end(&w->text, "},");
}

/* lock held. */
static void
copy_channel(const struct channel *c, struct channel_figures *to)
{
	tcpx_channel_describe(c, &to->info);
	to->in_flight_bytes = c->tx.outstanding_bytes;
	to->window = c->window.limit;
	to->gpu = tcpx_near_nic(c)->gpu;
	to->nic = c->near_nic;
}

/* Each connection costs a system call, so the lock is released after each. */
static uint32_t
copy_channels(struct session *s, struct channel_figures *seen)
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
count_nic(struct writer *w, const struct channel_figures *c)
{
	struct nic_figures *n = &w->nic[c->nic];

	n->retransmits += c->info.retransmits;
	n->channels += c->info.up != 0;
	n->in_flight += c->info.in_flight;
	n->in_flight_bytes += c->in_flight_bytes;
	if (c->info.rtt_us > n->rtt_us)
		n->rtt_us = c->info.rtt_us;
}

/* What the labels have is in the places of those of the engine. */
static struct label_figures *
figures_of(struct writer *w, const struct lane_label *label)
{
	const struct lane_labels *all = &w->engine->labels;

	return label == &all->other ? &w->other : &w->label[label - all->at];
}

/* lock held. */
static void
count_waiting(struct writer *w, const struct session *s, struct session_figures *to)
{
	tcpx_chain_each(at, after, &s->lanes.all) {
		struct tcpx_lane *l = tcpx_container(at, struct tcpx_lane, in_session);
		uint32_t n = tcpx_lane_ring_open(tcpx_lane_ring(l));
		struct label_figures *sum = l->label ? figures_of(w, l->label) : NULL;

		*(l->sends ? &to->lane_waiting_tx : &to->lane_waiting_rx) += n;
		if (sum)
			*(l->sends ? &sum->lane_waiting_tx : &sum->lane_waiting_rx) += n;
	}
}

/* lock held. */
static void
copy_lanes(const struct lane_count *n, struct session_figures *to)
{
	to->lanes = n->open;
	to->lanes_failed = n->failed;
	to->lane_messages_tx = n->messages_tx;
	to->lane_messages_rx = n->messages_rx;
	to->lane_bytes_tx = n->bytes_tx;
	to->lane_bytes_rx = n->bytes_rx;
}

static void
write_session(struct writer *w, struct session *s)
{
	struct tcpx_text *t = &w->text;
	uint32_t channels = copy_channels(s, w->seen), i;
	struct session_figures now = { 0 };

	pthread_mutex_lock(&s->lock);
	if (s->peer) {
		pthread_mutex_lock(&s->peer->lock);
		memcpy(now.peer, s->peer->name, sizeof(now.peer));
		pthread_mutex_unlock(&s->peer->lock);
	}
	now.id = s->id;
	now.opener = s->opener;
	now.state = state_name[s->state];
	now.transfers = s->xfers.live;
	now.queued_bytes = s->sched.queued_bytes;
	now.in_flight_bytes = s->sched.outstanding_bytes;
	copy_lanes(&s->lanes.count, &now);
	count_waiting(w, s, &now);
	pthread_mutex_unlock(&s->lock);

	tcpx_text_add(t, "{");
	tcpx_figures_report(t, &tcpx_session_figures, &now);
	tcpx_text_add(t, "\"channels\":[");
	for (i = 0; i < channels; i++) {
		count_nic(w, &w->seen[i]);
		if (w->listed == CHANNELS_MAX) {
			w->left_out++;
			continue;
		}
		write_object(w, &tcpx_channel_figures, &w->seen[i]);
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

/* registry.lock held. */
static void
copy_label(const struct lane_label *l, struct label_figures *to)
{
	memcpy(to->label, l->text, sizeof(to->label));
	to->lanes = atomic_load(&l->open);
	to->lanes_failed = atomic_load(&l->failed);
	to->lane_messages_tx = atomic_load(&l->messages_tx);
	to->lane_messages_rx = atomic_load(&l->messages_rx);
	to->lane_bytes_tx = atomic_load(&l->bytes_tx);
	to->lane_bytes_rx = atomic_load(&l->bytes_rx);
}

/* Labels that have been given, and what was merged. After the sessions, whose lanes wait. */
static void
write_labels(struct writer *w)
{
	const struct lane_labels *all = &w->engine->labels;
	const struct label_figures *sum = &w->other;

	pthread_mutex_lock(&w->engine->registry.lock);
	copy_label(&all->other, &w->other);
	for (size_t i = 0; i < TCPX_LANE_LABELS; i++)
		copy_label(&all->at[i], &w->label[i]);
	pthread_mutex_unlock(&w->engine->registry.lock);
	tcpx_text_add(&w->text, "\"lane_labels\":[");
	for (size_t i = 0; i < TCPX_LANE_LABELS; i++)
		if (w->label[i].label[0])
			write_object(w, &tcpx_label_figures, &w->label[i]);
	if (sum->lanes || sum->lanes_failed || sum->lane_messages_tx || sum->lane_messages_rx)
		write_object(w, &tcpx_label_figures, sum);
	end(&w->text, "],");
}

/* ---- the engine ---- */

static void
write_totals(struct writer *w)
{
	struct tcpx_counters now = { .struct_size = sizeof(now) };

	(void)tcpx_query(w->engine, &now);
	tcpx_text_add(&w->text, "\"totals\":{");
	tcpx_figures_report(&w->text, &tcpx_totals_figures, &now);
	add_number(&w->text, "sessions_stalled", now.stalls);
	end(&w->text, "},");
}

static void
write_nics(struct writer *w)
{
	struct tcpx_engine *e = w->engine;
	struct tcpx_nic_info info[TCPX_NET_NICS];
	size_t count = TCPX_NET_NICS, i;

	(void)tcpx_query_nics(e, info, sizeof(info[0]), &count);
	tcpx_text_add(&w->text, "\"nics\":[");
	for (i = 0; i < count; i++) {
		struct nic_figures *now = &w->nic[i];
		const struct nic_count *sum = &e->nics.sum[i];

		now->info = info[i];
		now->gpu = e->nics.at[i].gpu;
		now->bytes_tx = atomic_load(&sum->bytes_tx);
		now->bytes_rx = atomic_load(&sum->bytes_rx);
		now->stalls = atomic_load(&sum->stalls);
		now->retransmits += atomic_load(&sum->retransmits);
		if (e->stats && e->stats->reported_retransmits[i] > now->retransmits)
			now->retransmits = e->stats->reported_retransmits[i];
		else if (e->stats)
			e->stats->reported_retransmits[i] = now->retransmits;
		write_object(w, &tcpx_nic_figures, now);
	}
	end(&w->text, "],");
}

/* GPUs that have copied something; host memory in a provider's slots does not count. */
static void
write_gpus(struct writer *w)
{
	const struct memory *m = w->engine->memory;
	uint32_t gpu;

	tcpx_text_add(&w->text, "\"gpus\":[");
	for (gpu = 0; gpu < TCPX_GPUS_MAX; gpu++) {
		struct gpu_figures now = {
			.gpu = gpu,
			.bytes_packed = atomic_load(&m->copied[TCPX_FLOW_PACK][gpu + 1]),
			.bytes_unpacked = atomic_load(&m->copied[TCPX_FLOW_UNPACK][gpu + 1]) };

		if (now.bytes_packed || now.bytes_unpacked)
			write_object(w, &tcpx_gpu_figures, &now);
	}
	end(&w->text, "],");
}

static int
write_threads(struct writer *w)
{
	size_t count = w->engine->loop_count, i;
	struct tcpx_thread_info *now = calloc(count, sizeof(*now));

	if (!now)
		return -ENOMEM;
	(void)tcpx_query_threads(w->engine, now, sizeof(now[0]), &count);
	tcpx_text_add(&w->text, "\"threads\":[");
	for (i = 0; i < count; i++)
		write_object(w, &tcpx_thread_figures, &now[i]);
	end(&w->text, "],");
	free(now);
	return 0;
}

static int
snapshot(struct tcpx_engine *e, char **text, size_t *len)
{
	uint64_t now_ns = engine_now(e);
	const struct engine_figures now = {
		.schema = SCHEMA, .version = TCPX_VERSION, .provider = e->ops->name,
		.name = e->name, .pid = (uint32_t)getpid(), .incarnation = e->incarnation,
		.time_ns = now_ns, .uptime_ns = e->stats ? now_ns - e->stats->opened_ns : 0 };
	struct writer w = { .engine = e };
	struct tcpx_text *t = &w.text;
	int rc;

	w.seen = calloc(2 * TCPX_CHANNELS_MAX, sizeof(*w.seen));
	if (!w.seen)
		return -ENOMEM;
	tcpx_text_add(t, "{");
	tcpx_figures_report(t, &tcpx_engine_figures, &now);
	write_totals(&w);
	rc = write_sessions(&w);
	write_labels(&w);
	write_nics(&w);
	write_gpus(&w);
	rc = rc ? rc : write_threads(&w);
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
