/* SPDX-License-Identifier: Apache-2.0 */
/* Time of CPUs: proc/stat, kept open. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/io.h"
#include "tune/record/sample_part.h"

int
tcpx_sample_cpus_init(struct tcpx_sampler *s)
{
	struct sample_cpus *c = &s->cpus;
	long hz = sysconf(_SC_CLK_TCK);

	c->tick_us = 1000000u / (uint64_t)(hz > 0 ? hz : 100);
	c->last = calloc(TCPX_CPUS_MAX, sizeof(*c->last));
	c->seen = calloc(TCPX_CPUS_MAX, sizeof(*c->seen));
	if (!c->last || !c->seen)
		return -ENOMEM;
	c->fd = tcpx_io_open_file(s->root, "/proc/stat");
	if (c->fd < 0)
		s->cost.cpu_why = tcpx_maybe_why(c->fd);
	return 0;
}

void
tcpx_sample_cpus_fini(struct tcpx_sampler *s)
{
	if (s->cpus.fd >= 0)
		close(s->cpus.fd);
	free(s->cpus.last);
	free(s->cpus.seen);
	free(s->cpus.text);
}

/* Reads all of an open file from its beginning, NUL-terminated; grows *@text. The length, or -errno. */
static int
read_all(int fd, char **text, size_t *room)
{
	size_t used = 0;

	for (;;) {
		ssize_t n;

		if (used + 1 >= *room) {
			size_t want = *room ? *room * 2 : 16384;
			char *larger = realloc(*text, want);

			if (!larger)
				return -ENOMEM;
			*text = larger;
			*room = want;
		}
		n = pread(fd, *text + used, *room - used - 1, (off_t)used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	(*text)[used] = '\0';
	return (int)used;
}

static void
put(struct tcpx_sampler *s, const struct tcpx_cpu_times *times)
{
	/* guest is inside user already */
	static const struct {
		enum tcpx_cpu_time time;
		enum tcpx_sample_metric metric;
	} table[] = {
		{ TCPX_CPU_USER, TCPX_SAMPLE_USER }, { TCPX_CPU_NICE, TCPX_SAMPLE_USER },
		{ TCPX_CPU_SYSTEM, TCPX_SAMPLE_SYSTEM }, { TCPX_CPU_IRQ, TCPX_SAMPLE_SYSTEM },
		{ TCPX_CPU_SOFTIRQ, TCPX_SAMPLE_SOFTIRQ }, { TCPX_CPU_IDLE, TCPX_SAMPLE_IDLE },
		{ TCPX_CPU_IOWAIT, TCPX_SAMPLE_IDLE }, { TCPX_CPU_STEAL, TCPX_SAMPLE_STEAL },
	};
	uint64_t *last = s->cpus.last[times->cpu], sum[TCPX_SAMPLE_METRICS] = { 0 };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint64_t now = times->ticks[table[i].time], was = last[table[i].time];

		sum[table[i].metric] += now > was ? now - was : 0; /* idle may run back */
		last[table[i].time] = now;
	}
	if (!s->cpus.seen[times->cpu]) {
		s->cpus.seen[times->cpu] = true; /* it has come, or this is the first look */
		return;
	}
	for (unsigned m = TCPX_SAMPLE_USER; m <= TCPX_SAMPLE_STEAL; m++)
		tcpx_sampler_put(s, SAMPLE_OBJECT_CPU, (int)times->cpu, m,
				 sum[m] * s->cpus.tick_us);
}

void
tcpx_sample_cpus_look(struct tcpx_sampler *s)
{
	struct sample_cpus *c = &s->cpus;
	struct tcpx_cpu_times *times;
	unsigned count;
	int rc;

	if (c->fd < 0)
		return;
	rc = read_all(c->fd, &c->text, &c->room);
	if (rc >= 0)
		rc = tcpx_cpu_times_parse(c->text, &times, &count);
	if (rc < 0) {
		s->cost.cpu_why = tcpx_maybe_why(rc);
		return;
	}
	for (unsigned i = 0; i < count; i++)
		put(s, &times[i]);
	free(times);
}
