/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row from the differences of both sides. The sender of the data knows the channels:
 * this side for WRITE and SEND, the server for READ, both for two ways.
 */
#include "measure/perf/figures.h"

#include <math.h>
#include <string.h>


struct row_time
perf_time_of(const struct tcpx_hist *hist, double sum_us, double square_us, double scale)
{
	double n = (double)hist->count, mean = n ? sum_us / n : 0, variance;

	variance = n > 1 ? (square_us - n * mean * mean) / (n - 1) : 0;
	return (struct row_time){
		.min = (double)hist->min / 1000 * scale,
		.p50 = (double)tcpx_hist_percentile(hist, 50) / 1000 * scale,
		.p99 = (double)tcpx_hist_percentile(hist, 99) / 1000 * scale,
		.p999 = (double)tcpx_hist_percentile(hist, 99.9) / 1000 * scale,
		.max = (double)hist->max / 1000 * scale,
		.mean = mean * scale,
		.stdev = variance > 0 ? sqrt(variance) * scale : 0,
	};
}

static struct row_nic *
find_nic(struct row *row, const char *nic, const char *peer_nic)
{
	struct row_nic *n;

	for (size_t i = 0; i < row->per_nic.n; i++) {
		n = &row->per_nic.at[i];
		if (!strcmp(n->nic, nic) && !strcmp(n->peer_nic, peer_nic))
			return n;
	}
	n = LIST_ADD(&row->per_nic);
	snprintf(n->nic, sizeof(n->nic), "%s", nic);
	snprintf(n->peer_nic, sizeof(n->peer_nic), "%s", peer_nic);
	return n;
}

/* The other end of a sending channel. */
static struct tcpx_channel_info
receiver_of(const struct tcpx_channel_info *c, const struct usage *other)
{
	for (size_t i = 0; i < other->channels; i++) {
		const struct tcpx_channel_info *r = &other->channel[i];

		if (!r->sending && r->index == c->index && r->generation == c->generation &&
		    r->session == c->session)
			return *r;
	}
	return (struct tcpx_channel_info){ .incoming_cpu = -1 };
}

/* The sending channels of one side; NICs are named as the client sees them. */
static void
add_channels(struct row *row, const struct usage *u, const struct usage *other, bool far,
	     double *in_flight, uint64_t *chunks)
{
	for (size_t i = 0; i < u->channels; i++) {
		const struct tcpx_channel_info *c = &u->channel[i];
		const char *here = far ? c->peer_nic : c->nic, *there = far ? c->nic : c->peer_nic;
		struct row_channel *to;
		struct row_nic *nic;

		if (!c->sending)
			continue;
		row->degraded |= !c->up && !c->rests;
		if (!c->up && !c->chunks) /* it never came up, or was gone before */
			continue;
		to = LIST_ADD(&row->per_channel);
		*to = (struct row_channel){ *c, receiver_of(c, other) };
		memcpy(to->tx.nic, here, sizeof(to->tx.nic));
		usage_add_name(row->congestion, sizeof(row->congestion), c->congestion);
		nic = find_nic(row, here, there);
		nic->bytes += c->bytes;
		nic->retransmits += c->retransmits;
		*in_flight += (double)c->in_flight_sum;
		*chunks += c->chunks;
		if (c->in_flight_max > row->in_flight.max)
			row->in_flight.max = c->in_flight_max;
	}
}

static void
add_threads(struct row *row, const char *side, const struct usage *u)
{
	for (size_t i = 0; i < u->threads; i++) {
		const struct usage_thread *from = &u->thread[i];
		struct row_thread *t = LIST_ADD(&row->threads);

		snprintf(t->name, sizeof(t->name), "%s:%s", side, from->info.name);
		snprintf(t->requested, sizeof(t->requested), "%s", from->info.requested);
		snprintf(t->granted, sizeof(t->granted), "%s", from->info.granted);
		tcpx_cpuset_format(&from->ran_on, t->ran_on, sizeof(t->ran_on));
	}
}

static void
add_nic_counters(struct row *row, const char *side, const struct usage *u)
{
	for (size_t i = 0; i < u->nics; i++) {
		struct row_nic_counters *to = LIST_ADD(&row->nic_counters);

		*to = u->nic[i];
		snprintf(to->side, sizeof(to->side), "%s", side);
	}
}

static double
mean_us(uint64_t sum_ns, uint64_t count)
{
	return count ? (double)sum_ns / (double)count / 1000 : 0;
}

static void
fill_stages(struct row *row, const struct tcpx_counters *near, const struct tcpx_counters *far)
{
	uint64_t tx = near->chunks_tx + far->chunks_tx, rx = near->chunks_rx + far->chunks_rx;
	double ack = mean_us(near->ack_ns + far->ack_ns, tx);

	row->stage_us.queue = mean_us(near->queue_ns + far->queue_ns, tx);
	row->stage_us.wire = mean_us(near->wire_ns + far->wire_ns, tx);
	row->stage_us.unpack = mean_us(near->unpack_ns + far->unpack_ns, rx);
	row->stage_us.ack = ack > row->stage_us.unpack ? ack - row->stage_us.unpack : 0;
}

static void
fill_histogram(struct row *row, const struct load_stats *stats)
{
	struct tcpx_hist_bucket bucket;
	unsigned at = 0;

	while (tcpx_hist_next(&stats->hist, &at, &bucket)) {
		struct row_bucket *b = LIST_ADD(&row->histogram);

		b->us = (double)bucket.high / 1000;
		b->count = bucket.count;
	}
}

static void
fill_session(struct load *l, struct row *row)
{
	struct perf *p = l->perf;
	struct tcpx_peer_info peer = { .struct_size = sizeof(peer) };
	struct tcpx_xfer_info xfer = { .struct_size = sizeof(xfer) };
	tcpx_xfer *x = l->slot[0].out ? l->slot[0].out : l->slot[0].in;

	if (tcpx_peer_query(p->peer, &peer))
		return;
	row->channels = peer.channels_tx;
	row->window = peer.window_slots;
	row->chunk_bytes = x && !tcpx_xfer_query(x, &xfer) && xfer.chunk_bytes ? xfer.chunk_bytes
									       : peer.chunk_bytes;
	row->degraded |= peer.channels_tx + peer.resting_tx < peer.channels_wanted ||
			 peer.channels_rx + peer.resting_rx < peer.channels_wanted;
}

/* Payload that the server's own channels say they carried in one direction; 0: unknown, as
 * of what went without channels. */
static double
bytes_there(const struct perf *p, const struct usage *far)
{
	bool sending = !job_has_out(&p->job);
	double sum = 0;

	if (far->channels == USAGE_CHANNELS)
		return 0;
	for (size_t i = 0; i < far->channels; i++)
		if (!far->channel[i].sending == !sending)
			sum += (double)far->channel[i].bytes;
	return sum;
}

static void
fill_path(const struct perf *p, struct row *row)
{
	row->path_1M_GBps = p->path_GBps[0];
	row->path_GBps = fmax(p->path_GBps[0], p->path_GBps[1]);
	if (row->path_GBps > 0 && !p->job.lat)
		row->path_fraction = row->algbw_GBps / row->path_GBps;
}

void
perf_fill_row(struct load *l, const struct load_stats *s, struct row *row)
{
	struct perf *p = l->perf;
	bool there_and_back = p->job.lat && p->job.op != JOB_READ;
	double ways = p->job.bi || there_and_back ? 2 : 1, in_flight = 0;
	double bytes = (double)p->at.size * (double)s->iters, there = bytes_there(p, &s->far);
	uint64_t chunks = 0, sent = 0;

	row->size = p->at.size;
	snprintf(row->op, sizeof(row->op), "%s", job_op_names[p->job.op]);
	snprintf(row->dir, sizeof(row->dir), "%s", p->job.bi ? "bi" : "uni");
	snprintf(row->dist, sizeof(row->dist), "%s", p->args->dist);
	row->descs = p->at.descs;
	row->depth = p->job.depth;
	row->lanes = p->job.op == JOB_LANE ? p->job.lanes : 0;
	row->iters = s->iters;
	row->wrong = s->wrong;
	row->checked = s->compared && s->compared == s->iters;
	if (p->args->check && !p->unchecked)
		row->compared = (double)s->compared / (double)s->iters;
	row->warmup = p->args->warmup;
	fill_session(l, row);
	row->time_us = perf_time_of(&s->hist, s->sum_us, s->square_us, there_and_back ? 2 : 1);
	row->algbw_GBps = s->ns ? bytes / (double)s->ns : 0;
	row->busbw_GBps = row->algbw_GBps * (p->job.bi ? 2 : 1);
	if (s->far_ns)
		row->peer_algbw_GBps = (there > 0 ? there : bytes) / (double)s->far_ns;
	if (s->ns && !there_and_back)
		row->transfers_per_s = (double)s->iters / (double)s->ns * 1e9;
	place_format(&p->args->mem, row->mem);
	place_format(&p->far_mem, row->peer_mem);
	fill_path(p, row);
	if (bytes > 0) {
		row->client_cpu_s_per_GB = s->near.cpu_s / (bytes * ways / 1e9);
		row->server_cpu_s_per_GB = s->far.cpu_s / (bytes * ways / 1e9);
		row->cpu_s_per_GB = row->client_cpu_s_per_GB + row->server_cpu_s_per_GB;
	}
	row->ctxt_switches = s->near.ctxt_switches + s->far.ctxt_switches;

	if (job_has_out(&p->job))
		add_channels(row, &s->near, &s->far, false, &in_flight, &chunks);
	if (job_has_in(&p->job))
		add_channels(row, &s->far, &s->near, true, &in_flight, &chunks);
	row->in_flight.mean = chunks ? in_flight / (double)chunks : 0;
	row->degraded |= s->near.count.channels_lost || s->far.count.channels_lost;
	row->nics = row->per_nic.n;
	for (size_t i = 0; i < row->per_nic.n; i++)
		sent += row->per_nic.at[i].bytes;
	for (size_t i = 0; sent && i < row->per_nic.n; i++)
		row->per_nic.at[i].share = (double)row->per_nic.at[i].bytes / (double)sent;
	add_threads(row, "client", &s->near);
	add_threads(row, "server", &s->far);
	add_nic_counters(row, "client", &s->near);
	add_nic_counters(row, "server", &s->far);
	fill_stages(row, &s->near.count, &s->far.count);
	if (p->job.lat)
		row->half_rtt_us = perf_time_of(&s->hist, s->sum_us, s->square_us, 1);
	fill_histogram(row, s);
}
