/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading, subtracting and adding the cost of a run. in_flight_max, up and tx_mode are not
 * counters: the newest value stands.
 */
#include "measure/perf/perf_usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "measure/perf/job.h"

void
usage_read_process(struct usage *u)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	u->now_ns = tcpx_clock_now(&tcpx_clock_system);
	u->cpu_s = (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
		   (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
	u->ctxt_switches = (uint64_t)(r.ru_nvcsw + r.ru_nivcsw);
}

/* Field 39 of the thread's stat; the name in field 2 may hold blanks and brackets. */
static int
thread_cpu(int tid)
{
	char path[64], text[1024], *at;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at ? atoi(at) : -1;
}

static void
read_threads(tcpx_engine *engine, struct usage *u)
{
	struct tcpx_thread_info info[USAGE_THREADS];
	size_t n = USAGE_THREADS;

	if (tcpx_query_threads(engine, info, &n))
		return;
	u->threads = n < USAGE_THREADS ? n : USAGE_THREADS;
	for (size_t i = 0; i < u->threads; i++) {
		struct usage_thread *t = &u->thread[i];

		memcpy(t->name, info[i].name, sizeof(t->name));
		memcpy(t->requested, info[i].requested, sizeof(t->requested));
		memcpy(t->granted, info[i].granted, sizeof(t->granted));
		t->tid = info[i].tid;
		tcpx_cpuset_init(&t->ran_on);
		(void)tcpx_cpuset_add(&t->ran_on, thread_cpu(t->tid));
	}
}

static void
read_channels(tcpx_engine *engine, const char *peer, struct usage *u)
{
	size_t n = 0, room;
	struct tcpx_channel_info *info;

	if (tcpx_query_channels(engine, NULL, &n) || !n)
		return;
	room = n;
	info = calloc(room, sizeof(*info));
	if (!info || tcpx_query_channels(engine, info, &n))
		n = 0;
	for (size_t i = 0; i < n && i < room && u->channels < USAGE_CHANNELS; i++) {
		const struct tcpx_channel_info *c = &info[i];
		struct usage_channel *to = &u->channel[u->channels];

		if (peer[0] && strcmp(peer, c->peer))
			continue;
		*to = (struct usage_channel){
			.session = c->session, .index = c->index, .generation = c->generation,
			.sending = c->sending, .up = c->up, .bytes = c->bytes,
			.chunks = c->chunks, .stalls = c->stalls, .in_flight = c->in_flight,
			.in_flight_max = c->in_flight_max, .in_flight_sum = c->in_flight_sum,
			.retransmits = c->retransmits, .lent_bytes = c->lent_bytes,
			.cpu = c->incoming_cpu, .napi_id = c->napi_id };
		memcpy(to->tx_mode, c->tx_mode, sizeof(to->tx_mode));
		memcpy(to->nic, c->nic, sizeof(to->nic));
		memcpy(to->peer_nic, c->peer_nic, sizeof(to->peer_nic));
		u->channels++;
	}
	free(info);
}

void
usage_read(tcpx_engine *engine, const char *peer, struct usage *u)
{
	struct tcpx_counters c = { .struct_size = sizeof(c) };

	memset(u, 0, sizeof(*u));
	usage_read_process(u); /* first: the rest takes time */
	if (!tcpx_query(engine, &c)) {
		u->chunks_tx = c.chunks_tx;
		u->chunks_rx = c.chunks_rx;
		u->queue_ns = c.queue_ns;
		u->wire_ns = c.wire_ns;
		u->ack_ns = c.ack_ns;
		u->unpack_ns = c.unpack_ns;
		u->channels_lost = c.channels_lost;
	}
	read_channels(engine, peer, u);
	read_threads(engine, u);
	usage_nics_read(engine, &u->nics);
}

/* The entry of @u for the same channel, or NULL. */
static const struct usage_channel *
find_channel(const struct usage *u, const struct usage_channel *c)
{
	for (size_t i = 0; i < u->channels; i++) {
		const struct usage_channel *o = &u->channel[i];

		if (o->session == c->session && o->index == c->index &&
		    o->generation == c->generation && o->sending == c->sending)
			return o;
	}
	return NULL;
}

/* A counter that was reset (by a new connection) counts from 0. */
static uint64_t
since(uint64_t after, uint64_t before)
{
	return after >= before ? after - before : after;
}

static void
add_channel(struct usage *sum, const struct usage_channel *c, const struct usage_channel *before)
{
	static const struct usage_channel nothing;
	struct usage_channel *to = (struct usage_channel *)find_channel(sum, c);

	if (!before)
		before = &nothing;
	if (!to) {
		if (sum->channels == USAGE_CHANNELS)
			return;
		to = &sum->channel[sum->channels++];
		*to = (struct usage_channel){ .session = c->session, .index = c->index,
					      .generation = c->generation,
					      .sending = c->sending };
		memcpy(to->nic, c->nic, sizeof(to->nic));
		memcpy(to->peer_nic, c->peer_nic, sizeof(to->peer_nic));
	}
	to->up = c->up;
	to->in_flight = c->in_flight;
	to->in_flight_max = c->in_flight_max;
	to->bytes += since(c->bytes, before->bytes);
	to->chunks += since(c->chunks, before->chunks);
	to->stalls += since(c->stalls, before->stalls);
	to->in_flight_sum += since(c->in_flight_sum, before->in_flight_sum);
	to->retransmits += since(c->retransmits, before->retransmits);
	to->lent_bytes += since(c->lent_bytes, before->lent_bytes);
	to->cpu = c->cpu;
	to->napi_id = c->napi_id;
	memcpy(to->tx_mode, c->tx_mode, sizeof(to->tx_mode));
}

static void
add_threads(struct usage *sum, const struct usage *from)
{
	for (size_t i = 0; i < from->threads; i++) {
		size_t at = 0;

		while (at < sum->threads && sum->thread[at].tid != from->thread[i].tid)
			at++;
		if (at < sum->threads)
			tcpx_cpuset_or(&sum->thread[at].ran_on, &from->thread[i].ran_on);
		else if (at < USAGE_THREADS)
			sum->thread[sum->threads++] = from->thread[i];
	}
}

void
usage_add_difference(struct usage *sum, const struct usage *before, const struct usage *after)
{
	sum->now_ns += after->now_ns - before->now_ns;
	sum->cpu_s += after->cpu_s - before->cpu_s;
	sum->ctxt_switches += after->ctxt_switches - before->ctxt_switches;
	sum->chunks_tx += after->chunks_tx - before->chunks_tx;
	sum->chunks_rx += after->chunks_rx - before->chunks_rx;
	sum->queue_ns += after->queue_ns - before->queue_ns;
	sum->wire_ns += after->wire_ns - before->wire_ns;
	sum->ack_ns += after->ack_ns - before->ack_ns;
	sum->unpack_ns += after->unpack_ns - before->unpack_ns;
	sum->channels_lost += after->channels_lost - before->channels_lost;
	for (size_t i = 0; i < after->channels; i++)
		add_channel(sum, &after->channel[i], find_channel(before, &after->channel[i]));
	add_threads(sum, before);
	add_threads(sum, after);
	usage_nics_add_difference(&sum->nics, &before->nics, &after->nics);
}

void
usage_add(struct usage *sum, const struct usage *difference)
{
	struct usage *zero = calloc(1, sizeof(*zero));

	if (zero)
		usage_add_difference(sum, zero, difference);
	free(zero);
}

/* The session loses its lowest bit: JSON numbers are signed, and it is only an identifier.
 * A CPU is sent plus one, since a missing value is 0. */
static json_t *
format_channel(const struct usage_channel *c)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I,"
			 " s:s, s:i, s:I}",
			 "nic", c->nic, "peer_nic", c->peer_nic, "i", (json_int_t)c->index, "g",
			 (json_int_t)c->generation, "tx", c->sending, "up", c->up, "now",
			 (int)c->in_flight, "session", (json_int_t)(c->session >> 1), "bytes",
			 (json_int_t)c->bytes, "chunks", (json_int_t)c->chunks, "stalls",
			 (json_int_t)c->stalls, "sum", (json_int_t)c->in_flight_sum, "max",
			 (json_int_t)c->in_flight_max, "rtx", (json_int_t)c->retransmits, "lent",
			 (json_int_t)c->lent_bytes, "mode", c->tx_mode, "cpu", c->cpu + 1, "napi",
			 (json_int_t)c->napi_id);
}

json_t *
usage_format(const struct usage *u)
{
	json_t *channels = json_array(), *threads = json_array();

	for (size_t i = 0; i < u->channels; i++)
		json_array_append_new(channels, format_channel(&u->channel[i]));
	for (size_t i = 0; i < u->threads; i++) {
		const struct usage_thread *t = &u->thread[i];
		char ran_on[64];

		tcpx_cpuset_format(&t->ran_on, ran_on, sizeof(ran_on));
		json_array_append_new(threads,
				      json_pack("{s:s, s:s, s:s, s:s, s:i}", "name", t->name,
						"requested", t->requested, "granted", t->granted,
						"ran_on", ran_on, "tid", t->tid));
	}
	return json_pack("{s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}",
			 "ns", (json_int_t)u->now_ns, "cpu_s", u->cpu_s, "ctxt",
			 (json_int_t)u->ctxt_switches, "chunks_tx", (json_int_t)u->chunks_tx,
			 "chunks_rx", (json_int_t)u->chunks_rx, "queue_ns",
			 (json_int_t)u->queue_ns, "wire_ns", (json_int_t)u->wire_ns, "ack_ns",
			 (json_int_t)u->ack_ns, "unpack_ns", (json_int_t)u->unpack_ns, "lost",
			 (json_int_t)u->channels_lost, "channels", channels, "threads", threads, "nics",
			 usage_nics_format(&u->nics));
}

static uint64_t
count(const json_t *msg, const char *name)
{
	json_int_t v = json_integer_value(json_object_get(msg, name));

	return v > 0 ? (uint64_t)v : 0;
}

static void
parse_channel(const json_t *v, struct usage_channel *c)
{
	*c = (struct usage_channel){
		.session = count(v, "session"), .index = (uint32_t)count(v, "i"),
		.generation = (uint32_t)count(v, "g"), .sending = (int)count(v, "tx"),
		.up = (int)count(v, "up"), .bytes = count(v, "bytes"),
		.chunks = count(v, "chunks"), .stalls = count(v, "stalls"),
		.in_flight = (uint32_t)count(v, "now"), .in_flight_sum = count(v, "sum"),
		.in_flight_max = (uint32_t)count(v, "max"), .retransmits = count(v, "rtx"),
		.lent_bytes = count(v, "lent"),
		.cpu = (int)count(v, "cpu") - 1, .napi_id = (uint32_t)count(v, "napi") };
	snprintf(c->nic, sizeof(c->nic), "%s", job_text(v, "nic"));
	snprintf(c->peer_nic, sizeof(c->peer_nic), "%s", job_text(v, "peer_nic"));
	snprintf(c->tx_mode, sizeof(c->tx_mode), "%s", job_text(v, "mode"));
}

static void
parse_thread(const json_t *v, struct usage_thread *t)
{
	*t = (struct usage_thread){ .tid = (int)count(v, "tid") };
	snprintf(t->name, sizeof(t->name), "%s", job_text(v, "name"));
	snprintf(t->requested, sizeof(t->requested), "%s", job_text(v, "requested"));
	snprintf(t->granted, sizeof(t->granted), "%s", job_text(v, "granted"));
	if (tcpx_cpuset_parse(job_text(v, "ran_on"), &t->ran_on))
		tcpx_cpuset_init(&t->ran_on);
}

void
usage_parse(const json_t *msg, struct usage *u)
{
	const json_t *channels = json_object_get(msg, "channels");
	const json_t *threads = json_object_get(msg, "threads");

	memset(u, 0, sizeof(*u));
	u->now_ns = count(msg, "ns");
	u->cpu_s = job_real(msg, "cpu_s");
	u->ctxt_switches = count(msg, "ctxt");
	u->chunks_tx = count(msg, "chunks_tx");
	u->chunks_rx = count(msg, "chunks_rx");
	u->queue_ns = count(msg, "queue_ns");
	u->wire_ns = count(msg, "wire_ns");
	u->ack_ns = count(msg, "ack_ns");
	u->unpack_ns = count(msg, "unpack_ns");
	u->channels_lost = count(msg, "lost");
	for (size_t i = 0; i < json_array_size(channels) && i < USAGE_CHANNELS; i++)
		parse_channel(json_array_get(channels, i), &u->channel[u->channels++]);
	for (size_t i = 0; i < json_array_size(threads) && i < USAGE_THREADS; i++)
		parse_thread(json_array_get(threads, i), &u->thread[u->threads++]);
	usage_nics_parse(json_object_get(msg, "nics"), &u->nics);
}
