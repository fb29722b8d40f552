/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, subtracting and adding the cost of a run. The tables say what adds up. */
#include "measure/perf/usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/figures.h"
#include "base/shape_table.h"
#include "base/text.h"
#include "measure/job/job.h"
#include "measure/report/result_fields.h"

#define SUM(member, kind) { AT(member), .type = kind, .use = FIGURE_SUM }
#define ARRAY(member, counter, s) \
	{ AT(member), .type = FIELD_ARRAY, .shape = &s, .n = offsetof(S, counter), \
	  .room = sizeof(((S *)0)->member) / sizeof(((S *)0)->member[0]) }

#define S struct usage_thread
static const struct field thread_fields[] = {
	PART(info, tcpx_thread_figures), { AT(ran_on), .type = FIELD_CPUS },
};
static const struct shape thread_shape = SHAPE(thread_fields);
#undef S

#define S struct usage
static const struct field usage_fields[] = {
	SUM(now_ns, FIELD_COUNT), SUM(cpu_s, FIELD_NUMBER), SUM(ctxt_switches, FIELD_COUNT),
	OBJECT(count, tcpx_totals_figures), ARRAY(channel, channels, tcpx_channel_info_shape),
	ARRAY(thread, threads, thread_shape), ARRAY(nic, nics, nic_counters_shape),
};
static const struct shape usage_shape = SHAPE(usage_fields);
#undef S

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

	if (tcpx_query_threads(engine, info, sizeof(info[0]), &n))
		return;
	u->threads = n < USAGE_THREADS ? n : USAGE_THREADS;
	for (size_t i = 0; i < u->threads; i++) {
		u->thread[i].info = info[i];
		(void)tcpx_cpuset_add(&u->thread[i].ran_on, thread_cpu(info[i].tid));
	}
}

static void
read_channels(tcpx_engine *engine, const char *peer, struct usage *u)
{
	size_t n = 0, room;
	struct tcpx_channel_info *info;

	if (tcpx_query_channels(engine, NULL, 0, &n) || !n)
		return;
	room = n;
	info = calloc(room, sizeof(*info));
	if (!info || tcpx_query_channels(engine, info, sizeof(info[0]), &n))
		n = 0;
	for (size_t i = 0; i < n && i < room && u->channels < USAGE_CHANNELS; i++)
		if (!peer[0] || !strcmp(peer, info[i].peer)) {
			tcpx_text_show(info[i].peer_nic, sizeof(info[i].peer_nic), info[i].peer_nic);
			u->channel[u->channels++] = info[i];
		}
	free(info);
}

/* A counter that cannot be read is 0. */
static uint64_t
read_counter(const char *nic, const char *counter)
{
	char path[128];
	uint64_t v = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s", nic, counter);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%" SCNu64, &v) != 1)
		v = 0;
	fclose(f);
	return v;
}

/* An engine may use one NIC by several addresses. */
static void
read_nic(struct usage *u, const char *name)
{
	struct row_nic_counters *to = &u->nic[u->nics];

	for (size_t i = 0; i < u->nics; i++)
		if (!strcmp(u->nic[i].nic, name))
			return;
	if (u->nics == USAGE_NICS)
		return;
	u->nics++;
	snprintf(to->nic, sizeof(to->nic), "%s", name);
	shape_each(f, &nic_counters_shape)
		if (f->use & FIGURE_SUM)
			*(uint64_t *)((char *)to + f->offset) = read_counter(name, f->name);
}

static void
read_nics(tcpx_engine *engine, struct usage *u)
{
	struct tcpx_nic_info info[USAGE_NICS];
	size_t n = USAGE_NICS;

	if (tcpx_query_nics(engine, info, sizeof(info[0]), &n))
		return;
	for (size_t i = 0; i < n && i < USAGE_NICS; i++)
		read_nic(u, info[i].name);
	read_nic(u, "lo"); /* the kernel's way for traffic within this machine */
}

void
usage_read(tcpx_engine *engine, const char *peer, struct usage *u)
{
	memset(u, 0, sizeof(*u));
	usage_read_process(u); /* first: the rest takes time */
	u->count.struct_size = sizeof(u->count);
	(void)tcpx_query(engine, &u->count);
	read_channels(engine, peer, u);
	read_threads(engine, u);
	read_nics(engine, u);
}

/* Have the figures that name an object the same values? */
static bool
same(const struct shape *shape, const char *a, const char *b)
{
	shape_each(f, shape) {
		const char *x = a + f->offset, *y = b + f->offset;

		if (f->type == FIELD_PART && !same(f->shape, x, y))
			return false;
		if (!(f->use & FIGURE_KEY))
			continue;
		if (f->type == FIELD_STRING ? strcmp(x, y) : memcmp(x, y, f->room))
			return false;
	}
	return true;
}

static char *
find(const struct field *f, struct field_list list, const char *like)
{
	for (char *at = list.at; at < list.at + list.n * f->shape->bytes; at += f->shape->bytes)
		if (same(f->shape, at, like))
			return at;
	return NULL;
}

/* A counter that was reset (by a new connection) counts from 0. */
static uint64_t
since(uint64_t after, uint64_t before)
{
	return after >= before ? after - before : after;
}

/* Each of these takes the struct that holds the figure; @before may be NULL. */
static void add(const struct shape *shape, char *sum, const char *before, const char *after);

static void
add_array(const struct field *f, char *sum, const char *before, const char *after)
{
	struct field_list now = field_list_of(f, after);
	size_t *n = (size_t *)(sum + f->n);

	for (const char *at = now.at; at < now.at + now.n * f->shape->bytes; at += f->shape->bytes) {
		const char *then = before ? find(f, field_list_of(f, before), at) : NULL;
		char *to = find(f, field_list_of(f, sum), at);

		if (!to && *n < f->room)
			to = sum + f->offset + (*n)++ * f->shape->bytes;
		if (to)
			add(f->shape, to, then, at);
	}
}

static void
add_field(const struct field *f, char *sum, const char *before, const char *after)
{
	static const union { uint64_t count; double number; char cpus[sizeof(struct tcpx_cpuset)]; } none;
	const void *then = before ? before + f->offset : (const char *)&none;
	const void *now = after + f->offset;
	void *to = sum + f->offset;

	if (f->type == FIELD_CPUS) {
		tcpx_cpuset_or(to, then);
		tcpx_cpuset_or(to, now);
	} else if (!(f->use & FIGURE_SUM)) {
		memcpy(to, now, f->room);
	} else if (f->type == FIELD_NUMBER) {
		*(double *)to += *(const double *)now - *(const double *)then;
	} else {
		*(uint64_t *)to += since(*(const uint64_t *)now, *(const uint64_t *)then);
	}
}

static void
add(const struct shape *shape, char *sum, const char *before, const char *after)
{
	shape_each(f, shape) {
		if (f->type == FIELD_ARRAY)
			add_array(f, sum, before, after);
		else if (f->type == FIELD_OBJECT || f->type == FIELD_PART)
			add(f->shape, sum + f->offset, before ? before + f->offset : NULL,
			    after + f->offset);
		else
			add_field(f, sum, before, after);
	}
}

void
usage_add_difference(struct usage *sum, const struct usage *before, const struct usage *after)
{
	add(&usage_shape, (char *)sum, (const char *)before, (const char *)after);
}

const char *
usage_congestion(const struct usage *u)
{
	for (size_t i = 0; i < u->channels; i++)
		if (u->channel[i].congestion[0])
			return u->channel[i].congestion;
	return "";
}

void
usage_add_name(char *list, size_t cap, const char *name)
{
	size_t len = strlen(list), all = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at++)
		if (!all || ((at == list || at[-1] == ' ') && (!at[all] || at[all] == ',')))
			return;
	if (len + all + 2 < cap)
		snprintf(list + len, cap - len, "%s%s", len ? ", " : "", name);
}

json_t *
usage_format(const struct usage *u)
{
	return shape_json(&usage_shape, u);
}

int
usage_parse(const json_t *msg, struct usage *u)
{
	char why[SHAPE_WHY];

	memset(u, 0, sizeof(*u));
	if (shape_read_some(&usage_shape, msg, u, why))
		return 0;
	return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message %s: %s", job_text(msg, "t"), why);
}
